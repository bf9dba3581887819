import type { JsonValue } from './wire.ts'

/** A notice of a session for one webhook: delivered, pending or failed. */
export interface NoticeView {
  /** Id of the notice, as the receiver gets it: the same for each repeat. */
  readonly id: string
  /** Counts the notices of the session, from 1. */
  readonly n: number
  /** Name of the webhook; `session` for the webhook of the session itself. */
  readonly hook: string
  readonly type: 'settled' | 'awaiting-answer' | 'needs-recovery' | 'budget' | 'expired'
  readonly at: number
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** When the next attempt is due. Absent: it waits for one before it, or is over. */
  readonly dueAt?: number
  readonly settledAt?: number
  /** Why the last attempt failed. */
  readonly error?: string
  /** Further fields of the posted body. */
  readonly body: Readonly<Record<string, JsonValue>>
}

/** One page of notices. `nextCursor` is absent on the last page. */
export interface NoticeList {
  readonly notices: readonly NoticeView[]
  readonly nextCursor?: string
}
