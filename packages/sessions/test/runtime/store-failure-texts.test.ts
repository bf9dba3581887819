import { SessionError, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore } from '@bowline/testing/crashes'
import { expect, it } from 'vitest'
import type { DurableEvent } from '@bowline/agent-loop'
import { handOver, helper } from '../children/support.ts'
import { eventTypes } from '../recording-store.ts'
import { logOf, setup } from '../support.ts'

const place = '/srv/secret-place/data.db'
const failure = new SessionError('store-full', `The database ${place} cannot grow: the disk is full`)

type DurableEventType = DurableEvent['type']

/** Creates a store that fails for a moment, at a commit with an event of this type. */
function failingAt(type: DurableEventType): SessionStore {
  return faultyStore(memoryStore(), [
    { of: 'commit', times: 3, when: (batch) => eventTypes(batch).includes(type), fault: { error: failure } },
  ])
}

it.each<DurableEventType>(['turn-start', 'message-end', 'child-start', 'turn-end'])(
  'V90: the place of the store is in neither log nor result if it fails at %s, but onError gets it',
  async (type) => {
    const told: unknown[] = []
    const { runtime } = setup({
      steps: [{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }],
      store: failingAt(type),
      agent: { subagents: [helper('scout', [{ text: 'found' }])] },
      onError: (error) => told.push(error),
    })
    await runtime.start()
    const session = runtime.session('room:1')
    const run = await session.send('go')
    const result = await run.result()
    expect(result.status).toBe('completed')
    const seen = JSON.stringify([result, await logOf(session), await session.messages(), await session.runs()])
    expect(seen).not.toContain(place)
    expect(told).toContain(failure)
    await runtime.stop()
  },
)
