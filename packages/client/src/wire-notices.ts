import type { JsonValue } from './wire.ts'

/** A notice of a session for one webhook: delivered, pending or failed. */
export interface NoticeView {
  /** As the receiver gets it: the same at each repeat. */
  readonly id: string
  /** Counts the notices of the session, from 1. */
  readonly n: number
  /** The name of the webhook; `session`: that of the session itself. */
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
  /** What is posted, besides these. */
  readonly body: Readonly<Record<string, JsonValue>>
}

/** One page of notices. `nextCursor` is absent on the last page. */
export interface NoticeList {
  readonly notices: readonly NoticeView[]
  readonly nextCursor?: string
}
