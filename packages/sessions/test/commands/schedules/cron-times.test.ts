import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../../scripts/test-length.ts'
import { cronTimes } from '../../../src/commands/schedules/cron-times.ts'

const berlin = 'Europe/Berlin'
const minuteMs = 60_000
const dayMs = 86_400_000

/** Returns the times of a rule in `(after, until]`. */
async function timesOf(cron: string, timeZone: string, after: string | number, until: string | number): Promise<readonly number[]> {
  const next = await cronTimes(cron, timeZone)
  const [from, to] = [new Date(after).getTime(), new Date(until).getTime()]
  const found: number[] = []
  for (let time = next(from); time !== null && time <= to; time = next(time)) found.push(time)
  return found
}

const shown = (times: readonly number[]): readonly string[] => times.map((time) => new Date(time).toISOString().slice(5, 16))

describe('S211: times of cron rules', () => {
  it('S211: a wall-clock time that the clocks skip comes later by the skipped time', async () => {
    expect(shown(await timesOf('30 2 * * *', berlin, '2026-03-28T00:00Z', '2026-03-30T23:00Z'))).toEqual([
      '03-28T01:30',
      '03-29T01:30',
      '03-30T00:30',
    ])
    expect(shown(await timesOf('15,45 2 * * *', berlin, '2026-03-29T00:00Z', '2026-03-29T12:00Z'))).toEqual(['03-29T01:15', '03-29T01:45'])
    // 2:00 is skipped and comes at 3:00, which is a time of the rule too: one time, one input.
    expect(shown(await timesOf('0 2,3 * * *', berlin, '2026-03-29T00:00Z', '2026-03-29T12:00Z'))).toEqual(['03-29T01:00'])
    // 2:30 comes after 3:15, although it is earlier on the wall clock.
    expect(shown(await timesOf('15,30 2-3 * * *', berlin, '2026-03-29T00:00Z', '2026-03-29T12:00Z'))).toEqual([
      '03-29T01:15',
      '03-29T01:30',
    ])
  })

  it('S211: a wall-clock time that the clocks show twice comes once', async () => {
    expect(shown(await timesOf('30 2 * * *', berlin, '2026-10-24T00:00Z', '2026-10-26T23:00Z'))).toEqual([
      '10-24T00:30',
      '10-25T00:30',
      '10-26T01:30',
    ])
    expect(shown(await timesOf('0 */2 * * *', berlin, '2026-10-24T23:00Z', '2026-10-25T05:00Z'))).toEqual([
      '10-25T00:00',
      '10-25T03:00',
      '10-25T05:00',
    ])
    expect(shown(await timesOf('15,45 2 * * *', berlin, '2026-10-25T00:20Z', '2026-10-25T12:00Z'))).toEqual(['10-25T00:45'])
  })

  it('S211: a rule for every hour follows real time', async () => {
    expect(shown(await timesOf('0 * * * *', berlin, '2026-03-28T23:30Z', '2026-03-29T02:30Z'))).toEqual([
      '03-29T00:00',
      '03-29T01:00',
      '03-29T02:00',
    ])
    expect(await timesOf('0 * * * *', berlin, '2026-10-24T22:00Z', '2026-10-25T23:00Z')).toHaveLength(25)
    expect(await timesOf('@hourly', berlin, '2026-03-28T23:00Z', '2026-03-29T22:00Z')).toHaveLength(23)
  })

  it('S211: over years each wall-clock time of a day comes exactly once, in order, in every zone', async () => {
    const zones = fc.constantFrom(
      berlin,
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'America/Sao_Paulo',
      'Africa/Casablanca',
      'UTC',
    )
    await fc.assert(
      fc.asyncProperty(zones, fc.nat(23), fc.nat(59), fc.integer({ min: 2024, max: 2030 }), async (zone, hour, minute, year) => {
        const [from, to] = [Date.UTC(year, 0, 1, 12), Date.UTC(year, 11, 31, 12)]
        const times = await timesOf(`${minute} ${hour} * * *`, zone, from, to)
        expect(times.every((time, place) => place === 0 || time > (times[place - 1] ?? 0))).toBe(true)
        const day = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
        const days = times.map((time) => day.format(time))
        expect(new Set(days).size).toBe(days.length)
        const length = Math.round((to - from) / dayMs)
        expect(Math.abs(days.length - length)).toBeLessThanOrEqual(1)
        const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'short' })
        const wanted = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
        // The time differs at most on the two days a year on which clocks go forward.
        expect(times.filter((time) => clock.format(time) !== wanted).length).toBeLessThanOrEqual(2)
      }),
      randomRuns(30),
    )
  })

  it('S211: the next time does not depend on where the search begins', async () => {
    const all = await timesOf('*/20 1-3 * * *', berlin, '2026-03-28T12:00Z', '2026-03-29T12:00Z')
    const next = await cronTimes('*/20 1-3 * * *', berlin)
    for (let from = Date.parse('2026-03-28T12:00Z'); from < Date.parse('2026-03-29T03:00Z'); from += 7 * minuteMs) {
      expect(next(from)).toBe(all.find((time) => time > from) ?? next(Date.parse('2026-03-29T12:00Z')))
    }
  })

  it('S211: a rule without any future time throws an error that says so', async () => {
    expect((await cronTimes('0 0 30 2 *', berlin))(Date.now())).toBeNull()
    expect((await cronTimes('0 * 31 4 *', 'UTC'))(Date.now())).toBeNull()
  })
})
