/** Returns the first time after `afterMs`, or null if there is none. Both are epoch milliseconds. */
export type NextTime = (afterMs: number) => number | null

const dayMs = 86_400_000

/**
 * Returns the times of a cron rule of five fields in a time zone. A rule for every hour (`*`) follows real time: a day of a clock
 * change has 23 or 25 such hours. Every other rule names wall-clock times, each of which comes once. A time that the clocks skip
 * comes later by the skipped amount; of a time that they show twice, the first counts.
 *
 * Rejects if the rule or the time zone is invalid. The library is loaded with the first rule, since most sessions have none.
 */
export async function cronTimes(cron: string, timeZone: string): Promise<NextTime> {
  const { Cron } = await import('croner')
  const offsetAt = zoneOffset(timeZone)
  const times = (zone: string): NextTime => {
    const rule = new Cron(cron, { timezone: zone, mode: '5-part' })
    return (afterMs) => rule.nextRun(new Date(afterMs))?.getTime() ?? null
  }
  const isEveryHour = cron.trim() === '@hourly' || cron.trim().split(/\s+/)[1] === '*'
  // For wall-clock times the library evaluates the rule in UTC, which has no clock changes.
  return isEveryHour ? times(timeZone) : wallClockTimes(times('UTC'), offsetAt)
}

/** Represents a wall-clock time as the same time in UTC. */
function wallClockTimes(nextWall: NextTime, offsetAt: ZoneOffset): NextTime {
  return (afterMs) => {
    const offset = offsetAt(afterMs)
    // Times that were skipped within the last day come after times that are later on the wall clock.
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

/** Returns when the clocks first show `wall`. A skipped time is read by the clock before the change. */
function timeOf(wall: number, offsetAt: ZoneOffset): number {
  const [before, after] = [offsetAt(wall - dayMs), offsetAt(wall + dayMs)]
  const times = [wall - before, wall - after].sort((a, b) => a - b)
  return times.find((time) => time + offsetAt(time) === wall) ?? wall - before
}

/** Returns the offset of a zone from UTC at a time, in milliseconds. */
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
