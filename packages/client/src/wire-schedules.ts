import type { JsonValue, UserInput } from './wire.ts'

/** Times of a schedule: exactly one of `cron`, `every` and `at`. */
export interface ScheduleRule {
  /** Five fields, or `@daily` and the like. */
  readonly cron?: string
  /** With `cron`: an IANA name such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string
  /** Milliseconds between two inputs, at least a minute. */
  readonly every?: number
  /** One input at this time, in milliseconds since 1970. */
  readonly at?: number
}

/** Rule, input and id of a schedule to create. */
export interface ScheduleRequest extends ScheduleRule {
  /** The same request under an id gives the schedule that is there. Default: a new id. */
  readonly id?: string
  readonly input: UserInput
  /** One input for all times at which no server ran (the default), none, or one for each. */
  readonly onMissed?: 'once' | 'skip' | 'all'
  /** While a run is open the input waits (the default), or is left out this time. */
  readonly onBusy?: 'queue' | 'skip'
}

/** A stored schedule. Times are epoch milliseconds. */
export interface ScheduleView extends ScheduleRule {
  readonly id: string
  readonly status: 'active' | 'paused'
  /** The message that is sent. */
  readonly input: JsonValue
  readonly onMissed: 'once' | 'skip' | 'all'
  readonly onBusy: 'queue' | 'skip'
  /** Null while it is paused. */
  readonly nextAt: number | null
  readonly last?: { readonly dueAt: number; readonly runId: string }
  readonly createdAt: number
}

/** All schedules of a session, ordered by id. */
export interface ScheduleList {
  readonly schedules: readonly ScheduleView[]
}
