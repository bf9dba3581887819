import {
  createRuntime,
  type Batch,
  type CommitResult,
  type Runtime,
  type RuntimeOptions,
  type SessionStore,
  type Write,
} from '@bowline/sessions'

type Commit = SessionStore['commit']

/** Creates a runtime whose commits are changed on the way to the store, as by a mistake in the journal. */
function writingThrough(change: (commit: Commit) => Commit): (options: RuntimeOptions) => Runtime {
  return ({ store, ...options }) => {
    if (!store) throw new TypeError('a store is missing')
    const commit = change((batch) => store.commit(batch))
    const changed = new Proxy(store, { get: (target, name) => (name === 'commit' ? commit : (Reflect.get(target, name) as unknown)) })
    return createRuntime({ ...options, store: changed })
  }
}

/** Stores `started` only together with the outcome of a call: too late for the process that continues after a crash. */
export const lateLedger = writingThrough((commit) => (batch) => commit({ ...batch, writes: batch.writes.map(notStarted) }))

function notStarted(write: Write): Write {
  if (write.op !== 'call.put') return write
  return { ...write, calls: write.calls.map((call) => (call.state === 'started' ? { ...call, state: 'pending' } : call)) }
}

/** Takes answers, inputs and notifications out of the inbox in a commit before the one that uses them. */
export const earlyTake = writingThrough((commit) => async (batch) => {
  const isTake = ({ op }: Write): boolean => op === 'inbox.take' || op === 'inbox.patch'
  const taken = batch.writes.filter(isTake)
  const rest = batch.writes.filter((write) => !isTake(write))
  if (taken.length === 0 || rest.length === 0) return commit(batch)
  const first: CommitResult = await commit({ ...batch, id: `${batch.id}-take`, writes: taken })
  return first.ok ? commit({ ...batch, writes: rest }) : first
})

/** Commits even after another process has claimed the run. */
export const withoutFence = writingThrough((commit) => (batch: Batch) => {
  return commit({ ...batch, expect: batch.expect.filter(({ that }) => that !== 'fence') })
})

/** Repeats a failed commit under another id, so that the store cannot know it. */
export const namedAnew = writingThrough((commit) => (batch) => commit(batch).catch(() => commit({ ...batch, id: `${batch.id}-again` })))

/** Takes inputs of an inbox for stored, whatever the store says. */
export const alwaysStored = writingThrough((commit) => (batch) => {
  const stored: CommitResult = { ok: true, sessionId: '', version: 1, firstSeq: 1, lastSeq: 0 }
  return batch.writes.some(({ op }) => op === 'inbox.put') ? commit(batch).catch(() => stored) : commit(batch)
})

/** Takes a store that fails for a lost lease. */
export const takenForFenced = writingThrough((commit) => (batch) => commit(batch).catch(() => ({ ok: false, reason: 'fenced' }) as const))
