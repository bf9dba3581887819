import type { SessionContext } from '../agent.ts'
import type { FoundAgent } from '../agent-directory.ts'
import type { Stored } from '../records/record-table.ts'
import type { SessionRecord } from './session-record.ts'

/** A session that this process holds open with its executor. */
export interface LiveSession {
  readonly context: SessionContext
  /** The agent with which it was opened; it never changes. */
  readonly found: FoundAgent
  /** Record as last seen. */
  stored: Stored<SessionRecord>
  /** Whether a write of the record failed. It may have been made, so the record must be read again. */
  isUnsure: boolean
  /** Whether this process is ending it and will take it down. */
  isEnding: boolean
  /** Whether it was opened by a delegation. */
  readonly isForOneRequest: boolean
  /** Set once taking it down has begun. */
  leaving: Promise<void> | undefined
  /** Resolves when no agent works in it any more. */
  quiet: Promise<void>
  /** Frees its slot of the executor. Repeatable. */
  readonly releaseSlot: () => void
}
