import { hashJson } from '@bowline/agent-loop'
import { announceable } from '../children/reminders.ts'
import { inputKinds } from '../journal/journal-inbox.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { NewRun } from '../store/contract.ts'
import type { InboxRecord } from '../store/records.ts'
import { insertion, publishRunQueued } from './accept.ts'
import type { SessionContext } from './context.ts'

/**
 * What waits in the inbox of a session without an active run becomes a run: input that came too late for the run that it
 * was meant for, and word of children that have ended. Nothing happens when a run is there to take it.
 */
export async function startLeftovers(context: Pick<SessionContext, 'store' | 'live' | 'clock' | 'ids' | 'wake'>, key: string): Promise<void> {
  const { store, ids } = context
  for (;;) {
    const rows = await store.readInbox(key, inputKinds)
    if (!rows.some((row) => row.kind !== 'overlay')) return
    const session = await store.readSession(key)
    if (session.status !== 'found') return
    const next = await runFor(context, key, rows)
    if (!next) return
    const { id, version } = session.value
    const result = await commitOnce(store, {
      id: ids.next('batch'),
      key,
      expect: [{ that: 'session', id, version, alive: true }, { that: 'idle' }],
      writes: [...(next.taken ? [{ op: 'inbox.take', ids: [next.taken] } as const] : []), ...insertion(next.run)],
    })
    if (result.ok) {
      publishRunQueued(context, key, result, next.run)
      return context.wake()
    }
    if (result.reason !== 'conflict') return
  }
}

interface NextRun {
  readonly run: NewRun
  /** The inbox row that it begins with; it finds the others itself. */
  readonly taken?: string
}

async function runFor(
  { store, clock, ids }: Pick<SessionContext, 'store' | 'clock' | 'ids'>,
  key: string,
  rows: readonly InboxRecord[],
): Promise<NextRun | undefined> {
  const base = { id: ids.next('run'), at: clock.now() }
  const steered = rows.find((row) => row.kind === 'steer')
  if (steered) {
    const { input, inputId } = steered.body
    return { run: { ...base, kind: 'user', lane: 'follow-up', inputId, inputHash: hashJson(input), input }, taken: steered.id }
  }
  if ((await announceable(store, key)).length === 0) return undefined
  return { run: { ...base, kind: 'notification', inputHash: hashJson(null), input: null } }
}
