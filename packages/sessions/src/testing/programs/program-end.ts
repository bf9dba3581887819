import type { SessionInfo } from '../../commands/types.ts'
import type { DueReport } from '../../contract/session-store.ts'
import type { RecordedRequest } from '../../requests/types.ts'
import type { AcknowledgedInput, CrashEnd, SessionEnd } from '../crash-kit/types.ts'
import type { Program } from './program.ts'
import type { ProgramReader } from './reader.ts'

/** Records of the store at rest, before clients answer open questions. */
export interface FirstRest {
  /** The answer of `info` for each session of the clients. Absent if the session is missing or its process was struck. */
  readonly infos: ReadonlyMap<string, SessionInfo>
  readonly now: number
  readonly sessions: readonly SessionEnd[]
  readonly due: DueReport
}

/** Records, clients and effects at the end of a program. */
export interface ProgramEnd extends CrashEnd {
  readonly program: Program
  readonly firstRest: FirstRest
  readonly accepted: readonly AcceptedInput[]
  readonly decisions: ReadonlyMap<string, 'approve' | 'deny'>
  /** How often a client has asked for a call to be run again. */
  readonly runAgain: ReadonlyMap<string, number>
  /** Sessions from which clients took inputs back. */
  readonly cleared: ReadonlySet<string>
  readonly readers: readonly Pick<ProgramReader, 'session' | 'runId' | 'events' | 'endedAt' | 'refused' | 'start'>[]
  readonly copies: readonly Copy[]
  /** Undocumented errors that clients got. */
  readonly surprises: readonly string[]
  /** Runtimes that did not stop, and runs that were left alone. */
  readonly faults: readonly string[]
  readonly ceiling: readonly string[]
  /** Where the store said otherwise than a plain model what is due. */
  readonly dueProblems: readonly string[]
  /** Prompts that models got. */
  readonly prompts: readonly string[]
  /** What was recorded of each session. Empty if the program does not record. */
  readonly requests: readonly SessionRequests[]
  /** When something was written to each session last. */
  readonly writtenAt: ReadonlyMap<string, number>
}

/** A condition on the end of a program. The invariants of scenarios are conditions on programs too. */
export interface ProgramInvariant {
  readonly name: string
  /** Returns the problems; an empty list means none. */
  readonly check: (end: ProgramEnd) => readonly string[]
}

export interface SessionRequests {
  readonly key: string
  /** Oldest first. */
  readonly whole: readonly RecordedRequest[]
  /** Ids of those that are listed and cannot be read. */
  readonly unreadable: readonly string[]
  /** What reading them has thrown. */
  readonly thrown?: string
}

/** An input that the runtime acknowledged. */
export interface AcceptedInput extends AcknowledgedInput {
  /** How it is found in the log, and in what a model is sent. */
  readonly token: string
  /** The run that it is, or that it was accepted into; absent for an overlay. */
  readonly runId?: string
}

/** An export that was to become a session. */
export interface Copy {
  readonly key: string
  readonly lines: readonly string[]
  isMade: boolean
}
