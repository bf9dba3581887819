import type { AgentInput } from '@bowline/agent-loop'
import type { JSONValue, RuntimeParams } from '@bowline/llm'

/** Times of a schedule: exactly one of `cron`, `every` and `at`. */
export interface ScheduleRule {
  /**
   * Five fields (minute, hour, day of the month, month, day of the week) or `@daily` and the like. A clock change neither skips nor
   * repeats a wall-clock time; a rule for every hour (`*`) follows real time.
   */
  readonly cron?: string
  /** Time zone of `cron`, by its IANA name such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string
  /** Milliseconds between two inputs, at least 1,000. The first is due this long after the creation of the schedule. */
  readonly every?: number
  /** Time of a single input, in milliseconds since 1970. */
  readonly at?: number
}

/** A rule with the input that is sent at each of its times. Times are epoch milliseconds. */
export interface ScheduleOptions extends ScheduleRule {
  /**
   * Id of the schedule in its session, 1–150 bytes. Creating it again with the same options returns the existing one. Default: a
   * new id.
   */
  readonly id?: string
  /** Input that is sent each time, as with `send`. */
  readonly input: AgentInput
  /** Model parameters of each run. They override those of the agent. */
  readonly runtimeParams?: RuntimeParams
  /**
   * Action for missed times, that is, times that no process handles within a minute. `once` (default): one input for all of them.
   * `skip`: none. `all`: one for each.
   */
  readonly onMissed?: 'once' | 'skip' | 'all'
  /** Action while a run of the session is open: `queue` (default), or `skip` this time. */
  readonly onBusy?: 'queue' | 'skip'
}

/** A stored schedule with its next and last time (epoch milliseconds). */
export interface ScheduleInfo extends ScheduleRule {
  readonly id: string
  readonly session: string
  readonly status: 'active' | 'paused'
  /** Message that is sent. */
  readonly input: JSONValue
  readonly runtimeParams?: RuntimeParams
  readonly onMissed: 'once' | 'skip' | 'all'
  readonly onBusy: 'queue' | 'skip'
  /** Due time of the next input, in milliseconds since 1970. Null while paused. */
  readonly nextAt: number | null
  /** Last time for which an input was sent, and the run of that input. */
  readonly last?: { readonly dueAt: number; readonly runId: string }
  readonly createdAt: number
}

/** Methods that list and change the schedules of one session. */
export interface SessionSchedules {
  /** Lists all schedules, ordered by id. */
  list(): Promise<readonly ScheduleInfo[]>
  /** Pauses a schedule: it sends nothing until it is resumed. Throws `unknown-schedule`. */
  pause(id: string): Promise<ScheduleInfo>
  /** Resumes a schedule with its next time after now. Throws `unknown-schedule`. */
  resume(id: string): Promise<ScheduleInfo>
  /** Deletes a schedule. Its started runs continue. Returns false if there was none. */
  delete(id: string): Promise<boolean>
}
