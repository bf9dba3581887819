import type { SessionContext } from '../agent.ts'
import type { FoundAgent } from '../agent-directory.ts'
import type { Stored } from '../records/record-table.ts'
import type { SessionRecord } from './session-record.ts'

/** A session that this process holds open with its executor. */
export interface LiveSession {
  readonly context: SessionContext
  /** What it was opened on stays its agent. */
  readonly found: FoundAgent
  /** As it was seen last. */
  stored: Stored<SessionRecord>
  /** This process writes its end, and takes it down. */
  isEnding: boolean
  /** Opened by a delegation. */
  readonly isForOneRequest: boolean
  /** Set once it is being taken down. */
  leaving: Promise<void> | undefined
  /** Resolves when no agent works in it any more. */
  quiet: Promise<void>
  /** Gives back its place among the sessions of its executor. Repeatable. */
  readonly releaseSlot: () => void
}
