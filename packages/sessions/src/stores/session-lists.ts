import type { SessionQuery } from '../contract/session-store.ts'
import type { SessionRecord, Status } from '../contract/records.ts'
import { tenantOf } from '../keys.ts'

/** Sessions with these values in common. A store keeps them in the order of lists, for each combination of fields that is used here. */
export interface ListPart {
  readonly tenant?: string
  readonly parent?: string
  readonly agent?: string
  readonly status?: Status
  /** 1: sessions with a parent. */
  readonly child?: number
}

/** If no more sessions than these have the prefix, they are read and sorted. Otherwise a part of the list is searched for them. */
export const mostSorted = 500

/** Returns parts that do not overlap. Every session that matches is in one of them. */
export function partsOf({ keyPrefix = '', parent, status, agent }: SessionQuery): readonly ListPart[] {
  if (typeof parent === 'string') return [{ parent }]
  const tenant = tenantOf(keyPrefix)
  const common = tenant === undefined ? {} : { tenant }
  if (status) return [...new Set(status)].map((word) => ({ ...common, status: word }))
  if (agent !== undefined) return [{ ...common, agent }]
  return (parent === null ? [0] : [0, 1]).map((child) => ({ ...common, child }))
}

/** Returns true if the sessions of this query are those with its prefix, unless these are too many. */
export function isByPrefix({ keyPrefix = '', parent }: SessionQuery): boolean {
  return keyPrefix !== '' && typeof parent !== 'string' && tenantOf(keyPrefix) === undefined
}

/** Returns all parts that hold this session. */
export function partsWith({ key, parent, agent, status }: SessionRecord): readonly ListPart[] {
  const tenant = tenantOf(key)
  const common = [{ child: parent === undefined ? 0 : 1 }, { agent }, ...(status === undefined ? [] : [{ status }])]
  const ofTenant = tenant === undefined ? [] : common.map((part) => ({ tenant, ...part }))
  return [...common, ...ofTenant, ...(parent === undefined ? [] : [{ parent }])]
}
