import type { AgentInput } from '@bowline/agent-loop'
import type { JSONValue, RuntimeParams } from '@bowline/llm'

/** Times of a schedule: exactly one of `cron`, `every` and `at`. */
export interface ScheduleRule {
  /**
   * Five fields (minute, hour, day of the month, month, day of the week) or `@daily` and the like. Clocks that change neither
   * leave out nor repeat a wall-clock time; a rule for every hour (`*`) follows real time.
   */
  readonly cron?: string
  /** With `cron`: an IANA name such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string
  /** Milliseconds between two inputs, at least 1,000. The first is due that long after the schedule was made. */
  readonly every?: number
  /** One input at this time, in milliseconds since 1970. */
  readonly at?: number
}

/** A rule with the input that is sent at each of its times. Times are epoch milliseconds. */
export interface ScheduleOptions extends ScheduleRule {
  /** Names the schedule in its session, 1–150 bytes: the same options under it give the schedule that is there. Default: a new id. */
  readonly id?: string
  /** Sent each time, as by `send`. */
  readonly input: AgentInput
  /** Model parameters of each run. They override those of the agent. */
  readonly runtimeParams?: RuntimeParams
  /**
   * A time is missed if no process of the runtime gets to it within a minute. `once` (the default): one input for all times that
   * were missed. `skip`: none. `all`: one for each.
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
  /** The message that is sent. */
  readonly input: JSONValue
  readonly runtimeParams?: RuntimeParams
  readonly onMissed: 'once' | 'skip' | 'all'
  readonly onBusy: 'queue' | 'skip'
  /** The next input is due then, in milliseconds since 1970. Null while it is paused. */
  readonly nextAt: number | null
  /** The last time for which an input was sent, and the run that it became. */
  readonly last?: { readonly dueAt: number; readonly runId: string }
  readonly createdAt: number
}

/** Methods that list and change the schedules of one session. */
export interface SessionSchedules {
  /** All of them, in the order of their ids. */
  list(): Promise<readonly ScheduleInfo[]>
  /** Sends nothing until it is resumed. Throws `unknown-schedule`. */
  pause(id: string): Promise<ScheduleInfo>
  /** Goes on with the next time after now. Throws `unknown-schedule`. */
  resume(id: string): Promise<ScheduleInfo>
  /** Runs that it has started go on. False: there was none. */
  delete(id: string): Promise<boolean>
}
