import type { JsonValue, UserInput } from './wire.ts'

/** Times of a schedule: exactly one of `cron`, `every` and `at`. */
export interface ScheduleRule {
  /** Cron rule of five fields, or `@daily` and the like. */
  readonly cron?: string
  /** With `cron`: an IANA name such as `Europe/Berlin`. Default `UTC`. */
  readonly timeZone?: string
  /** Milliseconds between two inputs, at least 60,000. */
  readonly every?: number
  /** One input at this time, in milliseconds since 1970. */
  readonly at?: number
}

/** Rule, input and id of a schedule to create. */
export interface ScheduleRequest extends ScheduleRule {
  /** Idempotency id: the same request under an id returns the existing schedule. Default: a new id. */
  readonly id?: string
  readonly input: UserInput
  /** Inputs for times at which no server ran: `once` sends one for all of them (default), `skip` none, `all` one for each. */
  readonly onMissed?: 'once' | 'skip' | 'all'
  /** Action while a run is open: `queue` lets the input wait (default), `skip` leaves it out this time. */
  readonly onBusy?: 'queue' | 'skip'
}

/** A stored schedule. Times are epoch milliseconds. */
export interface ScheduleView extends ScheduleRule {
  readonly id: string
  readonly status: 'active' | 'paused'
  /** Message that is sent. */
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
