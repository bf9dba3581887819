import { defineTool, type AgentEvent } from '@bowline/agent-loop'
import { commitsOf } from '@bowline/agent-loop/events'
import { manualClock } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { handOver, helper, root, team } from '../children/support.ts'
import { recordingStore } from '../recording-store.ts'
import { namesOfPlaces, placesOfStores, type Place } from '../stores/places.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { collect, logOf, setup } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where.', inputSchema: { type: 'object', properties: {} } })
const postgres = postgresPlace()
const placeOf = placesOfStores()

async function postgresStores(): Promise<Place> {
  const store = await postgres.empty(postgres.shared(false))
  return [store, () => postgres.store(postgres.shared(false))]
}

type Recorded = ReturnType<typeof recordingStore>

/** Returns the ranges of the log that were stored together, by the answers of the store. */
function stored(store: Recorded, key: string): readonly (readonly [first: number, last: number])[] {
  return store.commits.flatMap(({ batch, result }) =>
    result.ok && batch.key === key && result.lastSeq >= result.firstSeq ? [[result.firstSeq, result.lastSeq] as const] : [],
  )
}

const rangesOf = (log: readonly AgentEvent[]) => commitsOf(log).map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])

/** Sends an input that waits for its answer in one process and is answered in the next one. */
async function twoProcesses([first, later]: readonly [SessionStore, () => SessionStore]) {
  const clock = manualClock(1_000)
  const stores = [recordingStore(first)]
  const one = setup({ store: stores[0]!, clock, steps: [{ toolCalls: [{ id: 'c', name: 'place', input: {} }] }], tools: [place] })
  await (await one.runtime.session('room:1').send('where?')).result()
  await one.runtime.stop()
  stores.push(recordingStore(later()))
  const two = setup({ store: stores[1]!, clock, steps: [{ text: 'there' }], tools: [place] })
  const session = two.runtime.session('room:1')
  const left = new AbortController()
  const reader = collect(session.events({ live: true, abortSignal: left.signal }))
  const { run } = await session.submitToolResults([{ toolCallId: 'c', output: 'sea' }])
  await run.result()
  return { ids: [one.runtime.id, two.runtime.id], stores, session, run, reader, stop: async () => (left.abort(), two.runtime.stop()) }
}

describe.each([...namesOfPlaces, 'postgres'] as const)('the log of a session over %s', (name) => {
  it('D55, S115: names the commit of each event, and the process and claim of each commit, within one millisecond and over a restart', async () => {
    const { ids, stores, session, run, reader, stop } = await twoProcesses(name === 'postgres' ? await postgresStores() : placeOf(name))
    const [one, two] = ids
    const log = await logOf(session)
    expect(rangesOf(log)).toEqual(stores.flatMap((store) => stored(store, 'room:1')))
    const commits = commitsOf(log)
    expect(commits[0]).toEqual({ firstSeq: 1, lastSeq: 2, at: 1_000, owner: one })
    const [begun, resumed] = log.filter((event) => event.type === 'turn-start')
    const owners = commits.flatMap(({ runId, epoch, owner, firstSeq }) => (epoch === undefined ? [] : [{ runId, epoch, owner, firstSeq }]))
    const isOfFirst = (seq: number) => seq < (resumed?.seq ?? 0)
    for (const { firstSeq, ...claim } of owners)
      expect(claim).toEqual({ runId: run.runId, ...(isOfFirst(firstSeq) ? { epoch: 1, owner: one } : { epoch: 2, owner: two }) })
    expect(owners.length).toBe(commits.length - 1)
    expect([begun?.seq, resumed?.resumed]).toEqual([4, true])
    const exported: AgentEvent[] = []
    for await (const line of session.export({ events: true })) {
      const value = JSON.parse(line) as { readonly type: string; readonly event: AgentEvent }
      if (value.type === 'event') exported.push(value.event)
    }
    expect(commitsOf(exported)).toEqual(commits)
    await stop()
    // The live events equal the stored ones.
    expect((await reader).filter((event) => 'seq' in event)).toEqual(
      log.map((event) => expect.objectContaining({ seq: event.seq, ...('commit' in event && { commit: event.commit }) }) as unknown),
    )
  })
})

it('D55: events that subagents write into the log of their parent carry the claim of the subagent', async () => {
  const store = recordingStore(memoryStore())
  const { runtime, session } = await team([{ toolCalls: [handOver('a', 'scout'), handOver('b', 'maker')] }, { text: 'done' }], {
    store,
    subagents: [helper('scout', [{ text: 'found' }]), helper('maker', [{ text: 'made' }])],
  })
  const run = await session.send('go')
  await run.result()
  const log = await logOf(session)
  const commits = commitsOf(log)
  const own = stored(store, root)
  const delivered = commits.filter(({ firstSeq }) => !own.some(([first]) => first === firstSeq))
  expect(commits.filter((each) => !delivered.includes(each)).map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual(own)
  for (const { firstSeq, epoch, owner, runId } of delivered) {
    const event = log[firstSeq - 1] as Extract<AgentEvent, { type: 'child-update' }>
    expect({ type: event.type, runId, epoch, owner }).toEqual({
      type: expect.stringMatching(/^child-(update|end)$/) as string,
      runId: event.childRunId,
      epoch: 1,
      owner: runtime.id,
    })
    expect(event.runId).toBe(run.runId)
  }
  expect(new Set(delivered.map(({ runId }) => runId)).size).toBe(2)
  await runtime.stop()
})

it('D55: the end of a deleted session is a commit without an owner', async () => {
  const { runtime } = setup({ steps: [{ text: 'hi' }] })
  const session = runtime.session('room:1')
  const run = await session.send('go')
  await run.result()
  const reader = collect(session.events({ live: true }))
  const { lastSeq } = commitsOf(await logOf(session)).at(-1)!
  await session.delete()
  expect(commitsOf(await reader).at(-1)).toEqual({ firstSeq: lastSeq + 1, lastSeq: lastSeq + 1, at: expect.any(Number) as number })
  await runtime.stop()
})
