import { behindPrefix } from '../contract/check-state.ts'
import { compareIds, pageLimit, pageOf, parsePosition, printPosition, type Page } from '../contract/paging.ts'
import type { SessionRecord } from '../contract/records.ts'
import type { SessionQuery } from '../contract/session-store.ts'
import type { Filter, Row, Scan } from '../rows/contract.ts'
import { readableRecord } from './rules.ts'
import { isByPrefix, isListed, mostSorted, partsOf, type ListPart } from './session-lists.ts'
import { headOf, usualStatus } from './records.ts'
import type { Steps } from './transact.ts'

/** Limit of sessions that have expired and are not marked: a process marks them as soon as it finds them. */
const mostUnmarked = 1000

export function* listSessions(query: SessionQuery): Steps<Page<SessionRecord>> {
  const { keyPrefix = '', page, status } = query
  const limit = pageLimit(query.limit)
  const after = parsePosition(page, 'number', 'text')
  const few = isByPrefix(query) ? yield* withPrefix(keyPrefix) : undefined
  const { now, rows } = few
    ? { now: few.now, rows: [few.rows] }
    : // Sessions with the usual status are in no index by status.
      yield [
        ...partsOf(status?.includes(usualStatus) ? { ...query, status: undefined as never } : query).map((part) =>
          scanOf(part, query, limit + 1, after),
        ),
        ...(query.expired ? [{ scan: 'session', index: 'end', equal: [], to: (yield []).now, limit: mostUnmarked }] : []),
      ]
  const found = new Map<string, SessionRecord>()
  for (const row of rows.flat()) {
    const record = readableRecord(headOf(row).record, now)
    if (isListed(record, query) && (!after || byActivity({ activeAt: after[0], key: after[1] }, record) < 0)) found.set(record.key, record)
  }
  return pageOf([...found.values()].sort(byActivity).slice(0, limit + 1), limit, ({ activeAt, key }) => printPosition(activeAt, key))
}

type Listed = Pick<SessionRecord, 'activeAt' | 'key'>

/** Compares by newest activity, then by key. */
function byActivity(a: Listed, b: Listed): number {
  return b.activeAt - a.activeAt || compareIds(a.key, b.key)
}

/** Returns all sessions with this prefix, unless they are too many to be sorted. */
function* withPrefix(prefix: string): Steps<{ readonly now: number; readonly rows: readonly Row[] } | undefined> {
  const to = behindPrefix(prefix)
  const { now, rows } = yield [
    { scan: 'session', index: 'key', equal: [], from: prefix, ...(to !== undefined && { to }), limit: mostSorted + 1 },
  ]
  const found = rows.flat().filter((row) => (row['key'] as string).startsWith(prefix))
  return found.length > mostSorted ? undefined : { now, rows: found }
}

function scanOf(part: ListPart, query: SessionQuery, limit: number, after: readonly (string | number)[] | undefined): Scan {
  const { tenant, parent, agent, status, section } = part
  const { keyPrefix = '', activeSince, agent: wantedAgent, status: wantedStatus, parent: wantedParent } = query
  const list = (index: string, ...equal: (string | number)[]): Pick<Scan, 'index' | 'equal'> => ({ index, equal: [...equal, section] })
  const where: Filter[] = [
    ...(keyPrefix === '' ? [] : [{ column: 'key', prefix: keyPrefix }]),
    ...(activeSince === undefined ? [] : [{ column: 'activeAt', from: activeSince }]),
    ...(wantedAgent === undefined || agent !== undefined ? [] : [{ column: 'agent', in: [wantedAgent] }]),
    ...(wantedStatus && status === undefined ? [{ column: 'status', in: wantedStatus }] : []),
    ...(typeof wantedParent === 'string' && parent === undefined ? [{ column: 'parent', in: [wantedParent] }] : []),
  ]
  const place = (): Pick<Scan, 'index' | 'equal'> => {
    if (parent !== undefined) return list('parent', parent)
    if (status === null) return list('unused', 1)
    if (status !== undefined) return tenant === undefined ? list('status', status) : list('tenantStatus', tenant, status)
    if (agent !== undefined) return tenant === undefined ? list('agent', agent) : list('tenantAgent', tenant, agent)
    return tenant === undefined ? list('list') : list('tenant', tenant)
  }
  return { scan: 'session', ...place(), ...(after && { after }), where, limit }
}
