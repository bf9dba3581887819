import assert from 'node:assert/strict'
import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import type {
  Batch,
  Claim,
  ClaimRequest,
  CommitRefusal,
  CommitResult,
  Delivery,
  Expect,
  InboxKind,
  NewEntry,
  NewEvent,
  NewRun,
  NewTimer,
  RunParent,
  RunPatch,
  RunRecord,
  SessionRecord,
  SessionStore,
  SessionTtl,
  ToolCallRecord,
  Write,
} from '@bowline/sessions'

export const startMs = 1_750_000_000_000
export const room = 'room:1'
/** Key of another session, to which batches of the room deliver. */
export const other = 'room:2'
export const inboxKinds: readonly InboxKind[] = ['answer', 'decision', 'steer', 'overlay', 'taken', 'child-settled']

type Committed = Extract<CommitResult, { ok: true }>

interface CommitOptions {
  readonly key?: string
  readonly id?: string
  readonly expect?: readonly Expect[]
  readonly deliver?: readonly Delivery[]
}

/** An open store, and helpers for the tests. */
export interface Bench {
  readonly store: SessionStore
  readonly clock: ManualClock
  try(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult>
  commit(writes: readonly Write[], options?: CommitOptions): Promise<Committed>
  /** Commits. Fails unless the batch is refused for this reason and the session is unchanged. */
  refused(reason: CommitRefusal, writes: readonly Write[], options?: CommitOptions): Promise<void>
  claim(request?: Partial<ClaimRequest>): Promise<readonly Claim[]>
  /** Creates a session with one run, claimed by `owner-a`. */
  running(runId: string, key?: string): Promise<Claim>
  session(key?: string): Promise<SessionRecord>
  run(runId: string): Promise<RunRecord>
  /** Reads everything that can be read of a session. */
  everything(key?: string): Promise<unknown>
}

let batches = 0
let deliveries = 0

export function benchOf(store: SessionStore, clock: ManualClock = manualClock(startMs)): Bench {
  const batchOf = (writes: readonly Write[], { key = room, id, expect = [], deliver }: CommitOptions = {}): Batch => {
    batches += 1
    return { id: id ?? `batch-${batches}`, key, expect, writes, ...(deliver && { deliver }) }
  }
  /** Ids of the runs that each owner has claimed through this bench. */
  const claimedBy = new Map<string, readonly string[]>()
  const bench: Bench = {
    store,
    clock,
    try: (writes, options) => store.commit(batchOf(writes, options)),
    async commit(writes, options) {
      const result = await bench.try(writes, options)
      assert.ok(result.ok, `refused: ${result.ok ? '' : result.reason}`)
      return result
    },
    async refused(reason, writes, options) {
      const before = await bench.everything(options?.key)
      assert.deepEqual(await bench.try(writes, options), { ok: false, reason })
      assert.deepEqual(await bench.everything(options?.key), before)
    },
    async claim({ owner = 'owner-a', ...request } = {}) {
      const holds = claimedBy.get(owner) ?? []
      const claims = await store.claim({ owner, max: 100, leaseMs: 10_000, agents: ['assistant'], holds, ...request })
      claimedBy.set(owner, [...holds, ...claims.map((claim) => claim.run.id)])
      return claims
    },
    async running(runId, key = room) {
      await bench.commit([ensure(key), insertRun(runId)], { key })
      const [claim] = await bench.claim({ runId })
      assert.ok(claim)
      return claim
    },
    async session(key = room) {
      const read = await store.readSession(key)
      assert.equal(read.status, 'found')
      return read.value
    },
    async run(runId) {
      const read = await store.readRun(runId)
      assert.equal(read.status, 'found')
      return read.value
    },
    async everything(key = room) {
      const runs = (await store.listRuns(key, { limit: 1000 })).items
      return {
        session: await store.readSession(key),
        path: await store.readPath(key, { limit: 1000 }),
        log: await store.readEvents(key, 0, 1000),
        runs,
        calls: await Promise.all(runs.map((run) => store.readCalls(run.id))),
        definitions: await Promise.all(runs.map((run) => store.readDefinition(run.definition ?? ''))),
        inbox: await store.readInbox(key, inboxKinds),
        children: await store.listChildren({ parent: { session: key }, limit: 1000 }),
        branches: await store.listBranches(key, { limit: 1000 }),
        time: await timeOf(store, key),
      }
    },
  }
  return bench
}

/** Returns the due work of a session, and the next due time of all sessions. */
async function timeOf(store: SessionStore, key: string): Promise<unknown> {
  const { timers, expired, nextAt } = await store.due(1000)
  return { timers: timers.filter((timer) => timer.session === key), over: expired.includes(key), nextAt }
}

interface SessionFields extends Partial<Pick<SessionRecord, 'id' | 'agent' | 'metadata' | 'parent'>> {
  readonly ttl?: SessionTtl
  readonly at?: number
}

export function ensure(key = room, { ttl, ...fields }: SessionFields = {}): Write {
  const first = { id: `session-of-${key}`, agent: 'assistant', metadata: {}, at: startMs }
  return { op: 'session.ensure', session: { ...first, ...fields, ...(ttl && { settings: { ttl } }) } }
}

/** Returns the write that deletes the session. Must be the last write of a batch. */
export function deleteSession(fields: { leavesNothing?: true } = {}): Write {
  return { op: 'session.delete', at: startMs + 7, ...fields }
}

export function deliver(to: string, writes: readonly Write[], when?: readonly Expect[]): Delivery {
  deliveries += 1
  return { id: `delivery-${deliveries}`, to, writes, ...(when && { when }) }
}

export function newRun(id: string, fields: Partial<NewRun> = {}): NewRun {
  const input = { role: 'user', content: `input of ${id}` }
  return { id, kind: 'user', inputHash: `hash of ${id}`, input, at: startMs, ...fields }
}

export function insertRun(id: string, fields: Partial<NewRun> = {}): Write {
  return { op: 'run.insert', run: newRun(id, fields) }
}

export function patchRun(runId: string, patch: RunPatch): Write {
  return { op: 'run.patch', runId, patch }
}

export function userEntry(id: string, parentId: string | null, text = `text of ${id}`): NewEntry {
  return { id, parentId, type: 'message', at: startMs, message: { role: 'user', id, content: text } }
}

export function appendEntries(...entries: readonly NewEntry[]): Write {
  return { op: 'entry.append', entries }
}

export function moveLeaf(leaf: string | null): Write {
  return { op: 'session.patch', patch: { leaf } }
}

export function appendEvents(...events: readonly NewEvent[]): Write {
  return { op: 'event.append', events }
}

/** Returns an event without references. */
export function mark(name: string): NewEvent {
  return { event: { type: 'session-start', at: startMs, sessionKey: name } }
}

export function openCall(runId: string, toolCallId: string, fields: Partial<ToolCallRecord> = {}): ToolCallRecord {
  return {
    runId,
    step: 1,
    toolCallId,
    session: room,
    index: 0,
    name: 'weather',
    effect: 'once',
    idempotencyKey: `${runId}/1/${toolCallId}`,
    inputHash: 'hash of the input',
    state: 'started',
    attempt: 1,
    startedAt: startMs,
    ...fields,
  }
}

export function settledCall(runId: string, toolCallId: string, fields: Partial<ToolCallRecord> = {}): ToolCallRecord {
  const outcome = {
    role: 'tool-result',
    id: `result-${toolCallId}`,
    toolCallId,
    toolName: 'weather',
    output: { type: 'text', value: `output of ${toolCallId}` },
    at: startMs,
    status: 'result',
    index: 0,
  } as const
  return { ...openCall(runId, toolCallId), state: 'settled', status: 'result', outcome, ...fields }
}

export function putCalls(...calls: readonly ToolCallRecord[]): Write {
  return { op: 'call.put', calls }
}

/** Returns the parent of a child of this run. Default: a run of the room. */
export function parentOf(runId: string, fields: Partial<RunParent> = {}): RunParent {
  return {
    session: room,
    runId,
    toolCallId: `call of ${runId}`,
    turn: 1,
    step: 1,
    path: ['researcher'],
    root: room,
    rootAgent: 'assistant',
    maxDepth: 3,
    ...fields,
  }
}

export function timer(id: string, dueAt: number | null, fields: Partial<NewTimer> = {}): NewTimer {
  return { id, dueAt, kind: 'deadline', body: { approvalId: id }, ...fields }
}

export function putTimers(...timers: readonly NewTimer[]): Write {
  return { op: 'timer.put', timers }
}

export function putAnswers(...ids: readonly string[]): Write {
  return { op: 'inbox.put', rows: ids.map((id) => ({ id, kind: 'answer', at: startMs, body: { toolCallId: id, hash: id, answer: {} } })) }
}

export function fence({ run }: Claim): Expect {
  return { that: 'fence', runId: run.id, epoch: run.epoch }
}
