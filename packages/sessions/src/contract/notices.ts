import type { JSONObject } from '@bowline/llm'
import type { PageRequest } from './paging.ts'

/**
 * Types of notices: a run has ended; a run waits for an answer of a client or a person; a run waits for `recover` or
 * `resolveTool`; a run has reached a limit of its budget; the session has expired.
 */
export const noticeTypes = ['settled', 'awaiting-answer', 'needs-recovery', 'budget', 'expired'] as const
/** Reason of a notice, as `noticeTypes` lists them. */
export type NoticeType = (typeof noticeTypes)[number]

/** Delivery state of a notice. `failed`: the last attempt has failed and no further one follows. */
export type NoticeState = 'pending' | 'delivered' | 'failed'

/** A webhook in a commit: its name and the notice types it receives. */
export interface NoticeHook {
  readonly name: string
  readonly events: readonly NoticeType[]
}

/** Name of the webhook in the settings of a session. No other hook has this name. */
export const sessionHook = 'session'

/** A stored notice for one webhook. Notices of one session and webhook are sent one at a time, in the order of `n`. */
export interface NoticeRecord {
  /** Made of the session id and `n`, so a repeated attempt has the same id. */
  readonly id: string
  readonly session: string
  /** Counts the notices of the session, from 1. */
  readonly n: number
  readonly hook: string
  readonly type: NoticeType
  /** Time of the commit that caused the notice. */
  readonly at: number
  readonly body: JSONObject
  readonly state: NoticeState
  /** Number of claims. */
  readonly attempts: number
  /** Time at which it was queued: `at`, or the time of the last `resendNotice`. */
  readonly queuedAt: number
  /** Time from which it can be claimed, or claimed again. Absent: it waits for an earlier notice, or is settled. */
  readonly dueAt?: number
  readonly settledAt?: number
  /** Why the last attempt failed. */
  readonly error?: string
}

/** Number, lease (ms) and receivers of notices to claim. */
export interface NoticeClaimRequest {
  readonly max: number
  /** A notice that is not settled within this time can be claimed again. */
  readonly leaseMs: number
  /** Only notices for these hooks. */
  readonly hooks: readonly string[]
  /** Only notices for this receiver: a hook, or for the webhooks of sessions the start of their URL, `https://host:port`. */
  readonly receiver?: string
  /** No notices for these receivers. */
  readonly except?: readonly string[]
}

/** Claimed notices, and the time (epoch milliseconds) at which the next one can be claimed. */
export interface NoticeClaims {
  readonly notices: readonly NoticeRecord[]
  /** Time at which the next notice for these hooks can be claimed; null: none is pending. */
  readonly nextAt: number | null
}

/** Outcome of a delivery attempt. `pending`: the notice is retried after the given time. */
export type NoticeOutcome =
  | { readonly state: 'delivered' }
  | { readonly state: 'failed'; readonly error: string }
  | { readonly state: 'pending'; readonly dueInMs: number; readonly error?: string }

/** Filters of a list of notices. Filters are combined; an absent one matches all. */
export interface NoticeQuery extends PageRequest {
  /** Key of the session. */
  readonly key?: string
  readonly state?: NoticeState
  readonly hook?: string
}

/**
 * Returns the name of the receiver of notices: the hook itself, or the origin of the URL for the webhooks of sessions, because many
 * sessions share a receiver.
 */
export function receiverOf(hook: string, ofSession: { readonly url: string } | undefined): string {
  return hook === sessionHook && ofSession ? ofSession.url.split('/', 3).join('/') : hook
}

/** A notice before it is assigned to webhooks. */
export interface NoticeDraft {
  readonly type: NoticeType
  readonly body: JSONObject
}

export function noticeId(sessionId: string, n: number): string {
  return `${sessionId}.${n}`
}

/** The number in the id of a notice. */
export function noticeNumber(id: string): number {
  const n = Number(id.slice(id.lastIndexOf('.') + 1))
  return Number.isSafeInteger(n) ? n : 0
}
