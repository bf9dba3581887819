import type { SessionInfo } from '../../../src/commands/types.ts'
import type { NoticeRecord } from '../../../src/contract/notices.ts'
import type { DueReport } from '../../../src/contract/session-store.ts'
import type { RecordedRequest } from '../../../src/requests/types.ts'
import type { AcknowledgedInput, CrashEnd, SessionEnd } from '../../../../testing/src/crash-kit/types.ts'
import type { Program } from './program.ts'
import type { ProgramReader } from './reader.ts'

/** Records of the store at rest, before clients answer open questions. */
export interface FirstRest {
  /** Result of `info` for each session of the clients. Absent if the session is missing, or if its process was disturbed meanwhile. */
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
  /** Number of times that a client has asked for a call to run again. */
  readonly runAgain: ReadonlyMap<string, number>
  /** Sessions from which clients withdrew inputs. */
  readonly cleared: ReadonlySet<string>
  readonly readers: readonly Pick<ProgramReader, 'session' | 'runId' | 'events' | 'endedAt' | 'refused' | 'start'>[]
  readonly copies: readonly Copy[]
  readonly lists: readonly List[]
  readonly amidTurn: readonly AmidTurn[]
  /** Notices of all sessions. */
  readonly notices: readonly NoticeRecord[]
  /** Undocumented errors that clients got. */
  readonly surprises: readonly string[]
  /** Runtimes that did not stop, and runs that stayed unclaimed for too long. */
  readonly faults: readonly string[]
  readonly ceiling: readonly string[]
  /** Differences between the due work that the store reported and that of a simple model. */
  readonly dueProblems: readonly string[]
  /** Prompts that models got. */
  readonly prompts: readonly string[]
  /** Recorded requests of each session. Empty if the program does not record. */
  readonly requests: readonly SessionRequests[]
  /** Time of the last write to each session. */
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
  /** Complete requests, oldest first. */
  readonly whole: readonly RecordedRequest[]
  /** Ids of requests that are listed but cannot be read. */
  readonly unreadable: readonly string[]
  /** Error text, if reading the requests has thrown. */
  readonly thrown?: string
}

/** An input that the runtime acknowledged. */
export interface AcceptedInput extends AcknowledgedInput {
  /** Token by which it is found in the log and in prompts. */
  readonly token: string
  /** Run of the input, or the run that accepted it. Absent for an overlay. */
  readonly runId?: string
}

/** An overlay that a reader gave at a step-end of a run. `isShown`: a model had it before the reader read the end of the turn. */
export interface AmidTurn {
  readonly token: string
  readonly runId: string
  readonly isShown: boolean
}

/** A list of sessions in pages, between which a session was forked, and whole lists before and after it. */
export interface List {
  readonly before: readonly SessionInfo[]
  readonly listed: readonly SessionInfo[]
  readonly after: readonly SessionInfo[]
}

/** An export that is imported as another session. */
export interface Copy {
  readonly key: string
  readonly lines: readonly string[]
  isMade: boolean
}
