import type { CommitMark } from '@bowline/agent-loop/events'
import type { Batch, CommitResult, NewEvent, Write } from '../contract/batch.ts'
import type { NoticeHook } from '../contract/notices.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { inputKindsThatStart } from '../core/rules.ts'

export interface CommittingStoreOptions {
  /** The id of the runtime. */
  readonly owner: string
  /** Webhooks that are notified of each commit. */
  readonly hooks: readonly NoticeHook[]
  /** Called after a commit that created notices. */
  readonly onNotices: () => void
  /** Called after a commit that left work, before its result is returned. Must not reject. */
  readonly onWork?: ((work: readonly WorkLeft[]) => Promise<void>) | undefined
}

/** A session in which a commit left work. Without a time it can be done now. */
export interface WorkLeft {
  readonly key: string
  readonly atMs?: number | undefined
}

/** Returns a store that adds to each commit of a runtime a mark with its writer and the webhooks to notify. */
export function committingStore(store: SessionStore, { owner, hooks, onNotices, onWork }: CommittingStoreOptions): SessionStore {
  const commit = async (batch: Batch): Promise<CommitResult> => {
    const { batch: marked, mark } = markedBatch(batch, owner)
    const result = await store.commit(hooks.length === 0 ? marked : notifying(marked, hooks))
    if (result.ok && result.notices) onNotices()
    if (result.ok && onWork) await onWork(workOf(batch))
    return result.ok && mark ? { ...result, mark } : result
  }
  const bound = new WeakMap<object, unknown>()
  return new Proxy(store, {
    get(target, name) {
      if (name === 'commit') return commit
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const before = bound.get(value)
      if (before !== undefined) return before
      const method: unknown = value.bind(target)
      bound.set(value, method)
      return method
    },
  })
}

function notifying(batch: Batch, notify: readonly NoticeHook[]): Batch {
  const { deliver } = batch
  return { ...batch, notify, ...(deliver && deliver.length > 0 && { deliver: deliver.map((delivery) => ({ ...delivery, notify })) }) }
}

function workOf({ key, writes, expect, deliver = [] }: Batch): readonly WorkLeft[] {
  // The end of a run frees the next one, which may be due before the one that has ended.
  const freed = expect.some(({ that }) => that === 'some-queued') ? [{ key }] : []
  const left = [{ key, writes }, ...deliver.map((delivery) => ({ key: delivery.to, writes: delivery.writes }))].flatMap((each) => {
    const times = each.writes.flatMap(timesOf)
    const isNow = times.includes(undefined)
    return times.length === 0 ? [] : { key: each.key, ...(!isNow && { atMs: Math.min(...(times as number[])) }) }
  })
  return [...freed, ...left]
}

/** Returns the times at which a write leaves work. Undefined means now. */
function timesOf(write: Write): readonly (number | undefined)[] {
  switch (write.op) {
    case 'run.insert':
      return [write.run.notBefore]
    case 'run.patch':
      return write.patch.status === 'queued' ? [write.patch.notBefore ?? undefined] : []
    case 'inbox.put':
      return write.rows.some(({ kind }) => inputKindsThatStart.includes(kind)) ? [undefined] : []
    case 'timer.put':
      return write.timers.flatMap(({ dueAt }) => dueAt ?? [])
    default:
      return []
  }
}

interface Writer {
  readonly owner: string
  /** The claim in the fence of the batch. */
  readonly claim: { readonly runId: string; readonly epoch: number } | undefined
}

/** Returns the batch with a mark on the first event for its own log, and on the first event for each log it delivers to. */
function markedBatch(batch: Batch, owner: string): { readonly batch: Batch; readonly mark?: CommitMark } {
  const claim = batch.expect.find((expect) => expect.that === 'fence')
  const { deliver } = batch
  const { writes, mark } = markedWrites(batch.writes, { owner, claim })
  const delivered = deliver?.map((delivery) => ({ ...delivery, writes: markedWrites(delivery.writes, { owner, claim }).writes }))
  return { batch: { ...batch, writes, ...(delivered && { deliver: delivered }) }, ...(mark && { mark }) }
}

function markedWrites(writes: readonly Write[], writer: Writer): { readonly writes: readonly Write[]; readonly mark?: CommitMark } {
  const place = writes.findIndex((write) => write.op === 'event.append' && write.events.length > 0)
  const write = writes[place]
  if (write?.op !== 'event.append') return { writes }
  const [first, ...others] = write.events
  if (!first) return { writes }
  const mark = markOf(first, writer)
  const event = { ...first.event, commit: mark }
  return { writes: writes.with(place, { ...write, events: [{ ...first, event }, ...others] }), mark }
}

function markOf({ event }: NewEvent, { owner, claim }: Writer): CommitMark {
  if (!claim) return { owner }
  const { runId, epoch } = claim
  return { owner, epoch, ...(event.runId !== runId && { runId }) }
}
