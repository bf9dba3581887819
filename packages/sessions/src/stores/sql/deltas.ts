import type { DeltaEvent } from '@bowline/agent-loop'
import { sql } from 'kysely'
import type { Batch } from '../../contract/batch.ts'
import type { DeltaBatch, DeltaPlace } from '../../contract/session-store.ts'
import { parseStored } from '../../json.ts'
import { all, ask, execute, statement, together } from './statement.ts'
import type { Steps } from './statement.ts'
import { numberValue, textValue } from './values.ts'
import { write } from './work.ts'
import type { Work } from './work.ts'

interface DeltaSlots {
  readonly namespace: string
  readonly runId: string
  readonly epoch: number
  readonly base: number
  readonly n: number
  readonly events: number
  readonly body: string
}

/** Inserts deltas unless the run has lost its claim. After a takeover a run may number its deltas from the same base again. */
const insertDelta = statement((db, { namespace, runId, epoch, base, n, events, body }: DeltaSlots) =>
  db
    .insertInto('delta')
    .columns(['session', 'run', 'epoch', 'base', 'n', 'events', 'body'])
    .expression((from) =>
      from
        .selectFrom('run')
        .innerJoin('run_state', 'run_state.run', 'run.row')
        .select([
          'run.session',
          'run.row',
          'run_state.epoch',
          numberValue(base).as('base'),
          numberValue(n).as('n'),
          numberValue(events).as('events'),
          textValue(body).as('body'),
        ])
        .where('run.namespace', '=', namespace)
        .where('run.id', '=', runId)
        .where('run.status', '=', sql.lit('running'))
        .where('run_state.epoch', '=', epoch),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['session', 'base', 'n'])
        .doUpdateSet((excluded) => ({
          run: excluded.ref('excluded.run'),
          epoch: excluded.ref('excluded.epoch'),
          events: excluded.ref('excluded.events'),
          body: excluded.ref('excluded.body'),
        }))
        .whereRef('delta.epoch', '<', 'excluded.epoch'),
    )
    .returning('session'),
)

const deltasAfter = statement((db, { namespace, key, base, n }: DeltaPlace & { readonly namespace: string; readonly key: string }) =>
  db
    .selectFrom('delta')
    .innerJoin('session', 'session.row', 'delta.session')
    .innerJoin('run', 'run.row', 'delta.run')
    .select(['delta.base', 'delta.n', 'delta.epoch', 'delta.body', 'run.id as runId'])
    .where('session.namespace', '=', namespace)
    .where('session.key', '=', key)
    .where((where) =>
      where.or([
        where('delta.base', '>', base),
        where.and([where('delta.base', '=', base), where(sql<number>`delta.n + delta.events - 1`, '>', n)]),
      ]),
    )
    .orderBy('delta.base')
    .orderBy('delta.n'),
)

const deleteDeltas = statement((db, slots: { readonly session: number }) => db.deleteFrom('delta').where('session', '=', slots.session))

/** Deletes the deltas of runs that are not running, in all namespaces: no commit will replace them. */
const deleteLeftDeltas = statement((db) =>
  db
    .deleteFrom('delta')
    .where((where) =>
      where.not(
        where.exists(
          where.selectFrom('run').select('run.row').whereRef('run.row', '=', 'delta.run').where('run.status', '=', sql.lit('running')),
        ),
      ),
    ),
)

export function* removeLeftDeltas(): Steps<void> {
  yield* execute(deleteLeftDeltas, {})
}

/** Inserts deltas of several runs in one round trip. */
export function* pushDeltas(namespace: string, batches: readonly DeltaBatch[]): Steps<void> {
  const rows = batches.map(({ runId, epoch, base, n, events }) => ({
    namespace,
    runId,
    epoch,
    base,
    n,
    events: events.length,
    body: JSON.stringify(events),
  }))
  yield* together({ pushed: rows.map((row) => ask(insertDelta, row)) })
}

/** Returns the deltas of the newest claim only. */
export function* readDeltas(namespace: string, key: string, after: DeltaPlace): Steps<readonly DeltaBatch[]> {
  const rows = yield* all(deltasAfter, { namespace, key, ...after })
  const last = rows.at(-1)?.runId
  const newest = Math.max(...rows.map(({ runId, epoch }) => (runId === last ? epoch : 0)))
  return rows
    .filter(({ runId, epoch }) => runId === last && epoch === newest)
    .map(({ body, ...place }) => ({ key, ...place, events: parseStored<DeltaEvent[]>(body, `Deltas of the run ${place.runId}`) }))
}

/** Deletes the deltas so far of a run that commits: the commit replaces them. */
export function replaceDeltas(work: Work, { expect }: Pick<Batch, 'expect'>): void {
  const { session, context } = work
  const replaces = session?.isGone === true || expect.some(({ that }) => that === 'fence')
  if (context.isShared && session && !session.newRow && replaces) write(work, deleteDeltas, { session: session.row })
}
