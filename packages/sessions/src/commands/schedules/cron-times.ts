import { Cron } from 'croner'

/** Returns the first time after a time, both in milliseconds since 1970. Null if there is none. */
export type NextTime = (afterMs: number) => number | null

const dayMs = 86_400_000

/**
 * Times of a cron rule of five fields in a time zone. A rule for every hour (`*`) follows real time: it has 23 or 25 hours
 * on a day on which the clocks change. Every other rule names wall-clock times, each of which comes once: one that the clocks
 * leave out comes later by as much as they skip, and of one that they show twice the first counts.
 *
 * Throws if the rule or the time zone cannot be read.
 */
export function cronTimes(cron: string, timeZone: string): NextTime {
  const offsetAt = zoneOffset(timeZone)
  const times = (zone: string): NextTime => {
    const rule = new Cron(cron, { timezone: zone, mode: '5-part' })
    return (afterMs) => rule.nextRun(new Date(afterMs))?.getTime() ?? null
  }
  const isEveryHour = cron.trim() === '@hourly' || cron.trim().split(/\s+/)[1] === '*'
  // The library reads its rule in UTC then, as if the clock on the wall never changed.
  return isEveryHour ? times(timeZone) : wallClockTimes(times('UTC'), offsetAt)
}

/** A wall-clock time is written as if it were one of UTC. */
function wallClockTimes(nextWall: NextTime, offsetAt: ZoneOffset): NextTime {
  return (afterMs) => {
    const offset = offsetAt(afterMs)
    // Times that the clocks have left out in the last day come after others that are later on the wall.
    const skippedMs = Math.max(0, offset - offsetAt(afterMs - dayMs))
    let first: number | null = null
    for (let wall = nextWall(afterMs + offset - skippedMs); wall !== null; wall = nextWall(wall)) {
      const time = timeOf(wall, offsetAt)
      if (time > afterMs && (first === null || time < first)) first = time
      if (first !== null && wall >= first + offsetAt(first)) break
    }
    return first
  }
}

/** When the clocks show this, for the first time. What they leave out is read by the clock before the change. */
function timeOf(wall: number, offsetAt: ZoneOffset): number {
  const [before, after] = [offsetAt(wall - dayMs), offsetAt(wall + dayMs)]
  const times = [wall - before, wall - after].sort((a, b) => a - b)
  return times.find((time) => time + offsetAt(time) === wall) ?? wall - before
}

/** Returns how far the clocks of a zone are ahead of UTC at a time, in milliseconds. */
type ZoneOffset = (atMs: number) => number

function zoneOffset(timeZone: string): ZoneOffset {
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', calendar: 'iso8601', ...fields })
  return (atMs) => {
    const shown = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1000) * 1000
  }
}
