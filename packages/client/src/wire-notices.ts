import type { JsonValue } from './wire.ts'

/** Notice of a session for one webhook: delivered, pending or failed. */
export interface NoticeView {
  /** Id of the notice that the receiver gets. Retries have the same id. */
  readonly id: string
  /** Number of the notice in the session, from 1. */
  readonly n: number
  /** Name of the webhook. `session` is the webhook of the session itself. */
  readonly hook: string
  readonly type: 'settled' | 'awaiting-answer' | 'needs-recovery' | 'budget' | 'expired'
  readonly at: number
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** Due time of the next attempt. Absent if it waits for an earlier notice or is over. */
  readonly dueAt?: number
  readonly settledAt?: number
  /** Error of the last attempt. */
  readonly error?: string
  /** Further fields of the posted body. */
  readonly body: Readonly<Record<string, JsonValue>>
}

/** One page of notices. `nextCursor` is absent on the last page. */
export interface NoticeList {
  readonly notices: readonly NoticeView[]
  readonly nextCursor?: string
}
