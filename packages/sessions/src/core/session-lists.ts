import type { SessionQuery } from '../contract/session-store.ts'
import type { SessionRecord, Status } from '../contract/records.ts'
import { tenantOf } from '../keys.ts'

/** Sessions with these values in common. A store keeps them in the order of lists, for each combination of fields that is used here. */
export interface ListPart {
  readonly tenant?: string
  readonly parent?: string
  readonly agent?: string
  /** Null: no run yet. */
  readonly status?: Status | null
  readonly section: number
}

/** If no more sessions than these have the prefix, they are read and sorted. Otherwise a part of the list is searched for them. */
export const mostSorted = 500

/** Sections of each list: without and with a parent, and the same for sessions that are marked as expired. */
const sections = [0, 1, 2, 3]

export function sectionOf({ parent, expiredAt }: Pick<SessionRecord, 'parent' | 'expiredAt'>): number {
  return (parent === undefined ? 0 : 1) + (expiredAt === undefined ? 0 : 2)
}

/**
 * Returns parts that do not overlap. Every session that matches is in one of them, except one that has expired and is not marked yet,
 * if only expired ones are wanted.
 */
export function partsOf({ keyPrefix = '', parent, status, agent, expired }: SessionQuery): readonly ListPart[] {
  const tenant = tenantOf(keyPrefix)
  const common = tenant === undefined ? {} : { tenant }
  const wanted = sections
    .filter((section) => parent === undefined || section % 2 === (parent === null ? 0 : 1))
    .filter((section) => expired === undefined || section > 1 === expired)
  return headsOf().flatMap((head) => wanted.map((section) => ({ ...head, section })))

  function headsOf(): readonly Omit<ListPart, 'section'>[] {
    if (typeof parent === 'string') return [{ parent }]
    if (status === null) return [{ status }]
    if (status) return [...new Set(status)].map((word) => ({ ...common, status: word }))
    return [agent === undefined ? common : { ...common, agent }]
  }
}

/** Returns true if the sessions of this query are those with its prefix, unless these are too many. */
export function isByPrefix({ keyPrefix = '', parent }: SessionQuery): boolean {
  return keyPrefix !== '' && typeof parent !== 'string' && tenantOf(keyPrefix) === undefined
}

/** True if the session matches all filters. `record` is as it can be read now. */
export function isListed(
  record: SessionRecord,
  { agent, status, expired, keyPrefix = '', parent, activeSince = 0 }: SessionQuery,
): boolean {
  return (
    record.activeAt >= activeSince &&
    (agent === undefined || record.agent === agent) &&
    (status === undefined || (status === null ? record.status === undefined : status.some((word) => word === record.status))) &&
    (expired === undefined || (record.expiredAt !== undefined) === expired) &&
    record.key.startsWith(keyPrefix) &&
    (parent === undefined || (record.parent ?? null) === parent)
  )
}
