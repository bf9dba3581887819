import { pageLimit, pageOf, parseTimerPosition, printTimerPosition } from '../../contract/paging.ts'
import type { Page } from '../../contract/paging.ts'
import type { TimerKind, TimerRecord } from '../../contract/records.ts'
import type { TimerQuery } from '../../contract/session-store.ts'
import { parseStored } from '../../json.ts'
import { all, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database, TimerTable } from './tables.ts'
import { atMost } from './values.ts'

interface ListSlots {
  readonly namespace: string
  readonly kind: TimerKind
  readonly key: string
  readonly id: string
  readonly limit: number
}

function selectTimers(db: Database, { namespace, kind, limit }: ListSlots) {
  return db
    .selectFrom('timer')
    .select(['timer.id', 'timer.kind', 'timer.due_at', 'timer.body', 'timer.key'])
    .where('timer.namespace', '=', namespace)
    .where('timer.kind', '=', kind)
    .orderBy('timer.key')
    .orderBy('timer.id')
    .limit(atMost(limit))
}

const ofSession = statement((db, slots: ListSlots) =>
  selectTimers(db, slots).where('timer.key', '=', slots.key).where('timer.id', '>', slots.id),
)

const ofAll = statement((db, slots: ListSlots) =>
  selectTimers(db, slots)
    .where('timer.key', '>=', slots.key)
    .where((where) => where.or([where('timer.key', '>', slots.key), where('timer.id', '>', slots.id)])),
)

export function* listTimers(namespace: string, { kind, key, limit, page }: TimerQuery): Steps<Page<TimerRecord>> {
  const after = page === undefined ? { session: '', id: '' } : parseTimerPosition(page)
  const most = pageLimit(limit)
  const slots = { namespace, kind, id: after.id, limit: most + 1 }
  const rows = key === undefined ? yield* all(ofAll, { ...slots, key: after.session }) : yield* all(ofSession, { ...slots, key })
  return pageOf(rows.map(timerRecord), most, printTimerPosition)
}

export function timerRecord({
  id,
  kind,
  due_at: dueAt,
  body,
  key,
}: Pick<TimerTable, 'id' | 'kind' | 'due_at' | 'body' | 'key'>): TimerRecord {
  return { id, session: key, kind, dueAt, body: parseStored(body, `The timer ${id}`) }
}
