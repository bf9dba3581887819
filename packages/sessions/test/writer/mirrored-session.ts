import {
  createMemoryJournal,
  type Agent,
  type AgentInput,
  type AgentResult,
  type Journal,
  type JournalState,
  type RunOptions,
} from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { expect } from 'vitest'
import { Conversation } from '../../src/writer/conversations.ts'
import { StoreJournal } from '../../src/writer/store-journal.ts'
import { LiveLog } from '../../src/log/live-log.ts'
import { finalizeRun } from '../../src/runtime/recover.ts'
import { waitingKinds } from '../../src/contract/records.ts'
import type { Write } from '../../src/contract/batch.ts'
import type { Claim, Read } from '../../src/contract/session-store.ts'

const key = 'room:1'

export interface MirroredSession {
  readonly clock: ManualClock
  /** Runs the agent on the store and on a memory journal. After each commit, both must have the same state. */
  play(agent: Agent, input: AgentInput | undefined, options?: RunOptions): Promise<AgentResult>
  state(): Promise<JournalState>
  /** Number of comparisons while a turn was open. */
  compared(): number
}

/** Expects that only messages which the compaction replaces are missing. */
function expectShown(state: JournalState, { messages, compaction }: JournalState): void {
  const kept = messages.findIndex(({ id }) => id === (compaction?.firstKeptMessageId || compaction?.lastMessageId))
  const left = messages.length - state.messages.length
  expect([0, kept]).toContain(left)
  expect(state.messages).toEqual(messages.slice(left))
}

/** Creates a session whose journal is compared with the reference. */
export async function mirroredSession(): Promise<MirroredSession> {
  const clock = manualClock(1_000)
  const ids = fakeIds()
  const live = new LiveLog()
  const store = memoryStore()
  const memory = createMemoryJournal()
  let compared = 0
  let waiting: string | undefined
  await store.open({ namespace: 'default', clock, owner: 'tests' })

  const commit = (writes: readonly Write[]) => store.commit({ id: ids.next('batch'), key, expect: [], writes })
  const unknown = (): Conversation => new Conversation(() => undefined)
  const conversation = unknown()
  const journalOf = (claim: Claim, remembered = unknown()): StoreJournal =>
    new StoreJournal({
      store,
      live,
      ids,
      claim,
      conversation: remembered,
      answers: [],
      abort: new AbortController(),
      durability: 'boundary',
      enqueue: () => Promise.reject(new Error('no follow-ups')),
    })

  /** Returns the state for a process that takes the run over now. */
  async function stored(runId: string): Promise<{ readonly claim: Claim; readonly state: JournalState }> {
    const [run, session] = [found(await store.readRun(runId)), found(await store.readSession(key))]
    const claim: Claim = { run, session, previous: 'running', inbox: await store.readInbox(key, waitingKinds) }
    return { claim, state: await journalOf(claim).load() }
  }

  async function compare(runId: string): Promise<void> {
    const { claim, state } = await stored(runId)
    const expected = await memory.load()
    expectShown(state, expected)
    expect(state.compaction).toEqual(expected.compaction)
    expect(state.turns).toBe(expected.turns)
    const { leaf } = claim.session
    expect(await conversation.read(store, key, leaf, undefined)).toEqual(await unknown().read(store, key, leaf, undefined))
    if (!expected.open) return
    expect(claim.run.status).not.toBe('completed')
    expect({ ...state.open, resume: undefined }).toEqual({ ...expected.open, resume: undefined })
    compared++
  }

  async function claimed(input: AgentInput | undefined): Promise<Claim> {
    const session = { id: 'session-1', agent: 'assistant', metadata: {}, at: clock.now() }
    const run = { id: ids.next('run'), kind: 'user', inputHash: '', input: JSON.stringify(input ?? null), at: clock.now() } as const
    await commit(
      waiting === undefined
        ? [
            { op: 'session.ensure', session },
            { op: 'run.insert', run },
          ]
        : [{ op: 'run.patch', runId: waiting, patch: { status: 'queued' } }],
    )
    const [claim] = await store.claim({ owner: 'tests', max: 1, leaseMs: 1_000_000, agents: ['assistant'], holds: [] })
    if (!claim) throw new Error('nothing to claim')
    return claim
  }

  return {
    clock,
    compared: () => compared,
    state: () => memory.load(),
    async play(agent, input, options = {}) {
      const claim = await claimed(input)
      const runId = claim.run.id
      const journal = journalOf(claim, conversation)
      const mirror: Journal = {
        async load() {
          const state = await journal.load()
          expectShown(state, await memory.load())
          return state
        },
        async commit(records, expectation) {
          const outcome = await journal.commit(records, expectation)
          if (!outcome.ok) return outcome
          await memory.commit(records)
          await compare(runId)
          return outcome
        },
      }
      const result = await agent.run(input, { ...options, journal: mirror, clock, ids, runId }).result()
      if (journal.needsFinalize) await finalizeRun({ store, live, clock, ids }, claim)
      const { status } = found(await store.readRun(runId))
      expect(status).toBe(result.status)
      waiting = status === 'awaiting-tools' || status === 'awaiting-approval' ? runId : undefined
      return result
    },
  }
}

function found<T>(read: Read<T>): T {
  if (!('value' in read)) throw new Error('missing')
  return read.value
}
