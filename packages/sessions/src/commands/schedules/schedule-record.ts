import { hashJson } from '@bowline/agent-loop'
import type { JSONObject, JSONValue, RuntimeParams } from '@bowline/llm'
import { inputChecks, longestMs } from '../../arguments.ts'
import type { NewTimer } from '../../contract/batch.ts'
import type { TimerRecord } from '../../contract/records.ts'
import { SessionError } from '../../errors.ts'
import { messageOf } from '../new-run.ts'
import { runtimeParamsOf } from '../settings.ts'
import { cronTimes, type NextTime } from './cron-times.ts'
import type { ScheduleInfo, ScheduleOptions, ScheduleRule } from './types.ts'

/** Body of a schedule's timer. */
export interface ScheduleRecord {
  readonly id: string
  /** Incarnation of its session. */
  readonly sessionId: string
  readonly rule: ScheduleRule
  readonly input: JSONValue
  readonly runtimeParams?: RuntimeParams
  readonly onMissed: ScheduleInfo['onMissed']
  readonly onBusy: ScheduleInfo['onBusy']
  /** Hash of the given options. Tells a repeat from another schedule. */
  readonly hash: string
  readonly createdAt: number
  /** Next due time. While the timer waits for room in the queue, its own due time is later. */
  readonly nextAt: number
  readonly paused?: true
  readonly last?: NonNullable<ScheduleInfo['last']>
}

/** Limit in bytes. With the date, it makes an input id of at most 200 bytes. */
const maxIdBytes = 150
const shortestMs = 1000
const { checkRequired, checkText, oneOf, optional, record, whole } = inputChecks

const checkOptions = record<ScheduleOptions>({
  id: optional((path, value) => checkRequired(path, value, `a text of 1 to ${maxIdBytes} bytes`, isId)),
  cron: checkText,
  timeZone: checkText,
  every: whole(shortestMs, longestMs),
  at: whole(0, longestMs),
  // Checked and copied by the parser of inputs.
  input: () => undefined,
  runtimeParams: (path, value) => void runtimeParamsOf(path, value),
  onMissed: oneOf('once', 'skip', 'all'),
  onBusy: oneOf('queue', 'skip'),
})

function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && new TextEncoder().encode(value).length <= maxIdBytes
}

/** Options of a schedule, checked and copied. */
export type GivenSchedule = Omit<ScheduleRecord, 'id' | 'sessionId' | 'createdAt' | 'nextAt'>

/** Throws `invalid-input` with the name of the option. The cron rule is checked by `firstTime`. */
export function givenSchedule(options: ScheduleOptions): GivenSchedule {
  checkOptions('schedule.options', options)
  const { cron, timeZone, every, at, input, onMissed = 'once', onBusy = 'queue' } = options
  const rules = Object.entries({ cron, every, at }).filter(([, value]) => value !== undefined)
  if (rules.length !== 1) {
    const named = rules.map(([name]) => name)
    throw invalid(
      '',
      `schedule.options must have exactly one of cron, every and at; received ${named.length === 0 ? 'none' : named.join(' and ')}.`,
    )
  }
  if (timeZone !== undefined && cron === undefined) throw invalid('timeZone', 'timeZone is allowed only with cron.')
  if (input === undefined) checkRequired('input', input, 'an input, as send takes it', () => false)
  const rule: ScheduleRule = cron !== undefined ? { cron, timeZone: timeZone ?? 'UTC' } : every !== undefined ? { every } : { at: at ?? 0 }
  const runtimeParams = runtimeParamsOf('runtimeParams', options.runtimeParams)
  const given = { rule, input: messageOf(input) as unknown as JSONValue, ...(runtimeParams && { runtimeParams }), onMissed, onBusy }
  return { ...given, hash: hashJson(given as unknown as JSONObject) }
}

async function checkCron(cron: string, timeZone: string): Promise<void> {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone })
  } catch (error) {
    throw invalid('timeZone', 'timeZone must be the IANA name of a time zone, such as Europe/Berlin.', error)
  }
  try {
    await cronTimes(cron, timeZone)
  } catch (error) {
    const fault = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : ''
    throw invalid('cron', `cron must be a rule of five fields, such as "30 7 * * 1-5": ${fault.replace(/\.$/, '')}.`, error)
  }
}

/** Creates an `invalid-input` error. `path` is the path of the option, which the issue has apart from its message. */
export function invalid(path: string, message: string, cause?: unknown): SessionError {
  const fault = path !== '' && message.startsWith(`${path} `) ? message.slice(path.length + 1) : message
  return new SessionError('invalid-input', message, { issues: [{ path, message: fault }], cause })
}

/** Returns the first time of a rule. Rejects with `invalid-input` for a wrong cron rule, and if no time is after `createdAt`. */
export async function firstTime(rule: ScheduleRule, createdAt: number): Promise<number> {
  if (rule.cron !== undefined) await checkCron(rule.cron, rule.timeZone ?? 'UTC')
  const first = (await timesOf(rule, createdAt))(createdAt)
  if (first !== null) return first
  throw rule.at === undefined
    ? invalid('cron', 'cron has no next time: no date matches it.')
    : invalid('at', 'at must be a time in the future.')
}

/** Returns the times of a rule whose schedule was created at `createdAt`. */
export async function timesOf({ cron, timeZone = 'UTC', every, at = 0 }: ScheduleRule, createdAt: number): Promise<NextTime> {
  if (cron !== undefined) return cronTimes(cron, timeZone)
  if (every !== undefined) return (afterMs) => createdAt + (Math.floor(Math.max(0, afterMs - createdAt) / every) + 1) * every
  return (afterMs) => (at > afterMs ? at : null)
}

export function scheduleTimerId(id: string): string {
  return `schedule:${id}`
}

/** `dueAt` is when the schedule is to be handled; null means never. */
export function scheduleTimer(schedule: ScheduleRecord, dueAt: number | null): NewTimer {
  return { id: scheduleTimerId(schedule.id), kind: 'schedule', dueAt, body: schedule as unknown as JSONObject }
}

/** Returns the timer of a paused schedule, which is never due. */
export function pausedSchedule(timer: Pick<TimerRecord, 'body'>): NewTimer {
  return scheduleTimer({ ...scheduleOf(timer), paused: true }, null)
}

export function scheduleOf({ body }: Pick<TimerRecord, 'body'>): ScheduleRecord {
  return body as unknown as ScheduleRecord
}

export function toScheduleInfo({ session, body }: Pick<TimerRecord, 'session' | 'body'>): ScheduleInfo {
  const { id, rule, input, runtimeParams, onMissed, onBusy, createdAt, nextAt, paused, last } = scheduleOf({ body })
  return {
    id,
    session,
    ...rule,
    input,
    ...(runtimeParams && { runtimeParams }),
    onMissed,
    onBusy,
    status: paused ? 'paused' : 'active',
    nextAt: paused ? null : nextAt,
    ...(last && { last }),
    createdAt,
  }
}
