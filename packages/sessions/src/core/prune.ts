import type { InboxKind } from '../contract/records.ts'
import type { PruneRules } from '../contract/session-store.ts'
import type { Change, Read, Row, Write } from '../rows/contract.ts'
import { nextInLine } from './notices.ts'
import { headOf, sessionRow, storedRun, type Head } from './records.ts'
import type { Decision, Steps } from './transact.ts'

/** Limit of old notices that are looked at in one step. */
const mostNotices = 1000

/** Returns the keys of sessions with something to delete, those with old runs first. */
export function* sessionsToPrune({ runsEndedBefore, noticesQueuedBefore = 0 }: PruneRules, limit: number): Steps<readonly string[]> {
  const scan = (table: string, index: string, before: number, most: number): Read => {
    return { scan: table, index, equal: [], to: before - 1, limit: most }
  }
  const { rows } = yield [
    scan('session', 'oldest', runsEndedBefore, limit + 1),
    scan('notice', 'settled', runsEndedBefore, mostNotices),
    scan('notice', 'queued', noticesQueuedBefore, mostNotices),
  ]
  return [...new Set(rows.flat().map((row) => (row['key'] ?? row['session']) as string))]
}

export interface Pruned {
  readonly runs: number
  readonly events: number
}

/** Deletes what is old in one session. */
export function* pruneSession(key: string, rules: PruneRules): Steps<Decision<Pruned>> {
  const { runsEndedBefore: before, noticesQueuedBefore: queuedBefore = 0 } = rules
  const { now, rows } = yield [
    { get: 'session', ids: [[key]] },
    { scan: 'run', index: 'n', equal: [key], limit: Infinity },
    {
      scan: 'inbox',
      index: 'n',
      equal: [key],
      where: [
        { column: 'kind', in: ['taken'] },
        { column: 'at', to: before - 1 },
      ],
      limit: Infinity,
    },
    { scan: 'notice', index: 'session', equal: [key], where: [{ column: 'settledAt', to: before - 1 }], limit: Infinity },
    { scan: 'notice', index: 'session', equal: [key], where: [{ column: 'queuedAt', to: queuedBefore - 1 }], limit: Infinity },
  ]
  const [[session] = [], runs = [], taken = [], settled = [], queued = []] = rows
  if (!session) return { result: { runs: 0, events: 0 } }
  const firstKept = runs.findIndex((row) => (storedRun(row).state.endedAt ?? Infinity) >= before)
  const gone = firstKept === -1 ? runs : runs.slice(0, firstKept)
  const notices = [...settled, ...queued]
  if (gone.length + notices.length === 0) return { result: { runs: 0, events: 0 } }
  const was = headOf(session)
  const { head, writes } = gone.length > 0 ? withoutRuns(was, gone, runs[gone.length], taken) : { head: was, writes: [] }
  const hooks = new Set(queued.map((row) => row['hook'] as string))
  const next: Write[] = []
  for (const hook of hooks) next.push(...(yield* nextInLine(key, hook, numbersIn(queued), now)))
  const pending = { ...head.pending }
  for (const row of queued) pending[row['hook'] as string] = (pending[row['hook'] as string] ?? 0) - 1
  const { key: _key, ...set } = sessionRow({ ...head, pending, revision: was.revision + 1 })
  return {
    result: { runs: gone.length, events: head.record.firstSeq - was.record.firstSeq },
    change: {
      writes: [
        { update: 'session', id: [key], set, if: { revision: was.revision } },
        ...writes,
        ...notices.map((row): Write => ({ drop: 'notice', id: [key, row['n'] as number] })),
        ...next,
      ],
    },
  }
}

function numbersIn(rows: readonly Row[]): readonly number[] {
  return rows.map((row) => row['n'] as number)
}

/** Keeps the calls of the runs: entries of the transcript refer to them. */
function withoutRuns(
  was: Head,
  gone: readonly Row[],
  kept: Row | undefined,
  taken: readonly Row[],
): { readonly head: Head; readonly writes: readonly Write[] } {
  const { oldestEnd: _end, oldestRun: _run, ...rest } = was
  const { record } = was
  const { key } = record
  const oldest = kept && storedRun(kept).state
  const firstSeq = Math.max(record.firstSeq, Math.min(record.nextSeq, oldest?.firstSeq ?? record.nextSeq))
  const inbox: Partial<Record<InboxKind, number>> = { ...was.inbox, taken: (was.inbox.taken ?? 0) - taken.length }
  const head: Head = {
    ...rest,
    inbox,
    record: { ...record, firstSeq },
    ...(oldest && { oldestRun: oldest.n, ...(oldest.endedAt !== undefined && { oldestEnd: oldest.endedAt }) }),
  }
  return {
    head,
    writes: [
      ...gone.flatMap((row): readonly Write[] => [
        { drop: 'run', id: [row['id'] as string] },
        { drop: 'input', id: [row['id'] as string] },
      ]),
      ...taken.map((row): Write => ({ drop: 'inbox', id: [key, row['id'] as string] })),
      { dropAll: { scan: 'event', index: 'seq', equal: [key], to: firstSeq - 1, limit: Infinity } },
    ],
  }
}

/** Definitions that are looked at in one step. */
const definitionsPerRead = 200

/**
 * Marks definitions to which no run refers by a negative time, and deletes those that were marked before. A run that takes a marked
 * definition removes the mark; one that took it earlier is found now. So runs do not change the definition that they share.
 */
export function* pruneDefinitions(): Steps<readonly Change[]> {
  const changes: Change[] = []
  for (let after: { readonly after?: readonly (string | number)[] } = {}; ;) {
    const { rows } = yield [{ scan: 'definition', index: 'used', equal: [], limit: definitionsPerRead, ...after }]
    const definitions = rows.flat()
    const uses = yield definitions.map((row) => ({ scan: 'run', index: 'definition', equal: [row['hash'] as string], limit: 1 }))
    for (const [place, row] of definitions.entries()) {
      const [hash, usedAt] = [row['hash'] as string, row['usedAt'] as number]
      const isUsed = (uses.rows[place]?.length ?? 0) > 0
      const marked = { update: 'definition', id: [hash], set: { usedAt: -usedAt - 1 }, if: { usedAt } } as const
      if (!isUsed) changes.push({ isBrief: true, writes: [usedAt < 0 ? { drop: 'definition', id: [hash], if: { usedAt } } : marked] })
      after = { after: [usedAt, hash] }
    }
    if (definitions.length < definitionsPerRead) return changes
  }
}
