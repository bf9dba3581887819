import { defineExtension } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { fakeIds } from '@bowline/testing'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import type { ScheduleOptions, Session } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { fireSchedule } from '../../../src/commands/schedules/fire-schedule.ts'
import { LiveLog } from '../../../src/log/live-log.ts'
import { collect, gate, heldScript, setup, userTexts, type SetupOptions } from '../../support.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** A Thursday at noon in UTC. */
const noon = Date.UTC(2026, 10, 26, 12)

/** Creates a clock that can be set, like that of a machine. Timers that are already set keep their duration. */
function settableClock(start: number) {
  const real = manualClock(start)
  let offset = 0
  const clock: Clock = { now: () => real.now() + offset, setTimer: (atMs, run) => real.setTimer(atMs - offset, run) }
  return { clock, advance: (ms: number) => real.advance(ms), setBack: (ms: number) => void (offset -= ms) }
}

const answers = (count: number) => Array.from({ length: count }, (_, place) => ({ text: `answer ${place + 1}` }))

async function started(options: Partial<SetupOptions> & { readonly count?: number } = {}) {
  const clock = manualClock(noon)
  const { count = 10, ...rest } = options
  const made = setup({ steps: answers(count), clock, ...rest })
  await made.runtime.start()
  return { ...made, clock, session: made.runtime.session('room:1') }
}

/** Returns the id of each input, which contains its due time. */
async function inputs(session: Session) {
  return (await session.runs({ limit: 1000 })).items.map(({ inputId }) => inputId)
}

describe('schedules', () => {
  it('S210: every sends an input at each time, from one interval after it was made', async () => {
    const { runtime, model, clock, session, faults } = await started()
    const schedule = await session.schedule({ id: 'tick', every: hourMs, input: 'report' })
    expect(schedule).toEqual({
      id: 'tick',
      session: 'room:1',
      every: hourMs,
      status: 'active',
      onMissed: 'once',
      onBusy: 'queue',
      input: { role: 'user', content: 'report' },
      nextAt: noon + hourMs,
      createdAt: noon,
    })
    await clock.advance(hourMs - 1)
    expect(model.calls).toHaveLength(0)
    await clock.advance(1)
    await clock.advance(hourMs)
    expect(model.calls.map((call) => userTexts(call).at(-1))).toEqual(['report', 'report'])
    expect(await inputs(session)).toEqual(['schedule:tick:2026-11-26T13:00:00.000Z', 'schedule:tick:2026-11-26T14:00:00.000Z'])
    const [listed] = await session.schedules.list()
    expect(listed).toMatchObject({ nextAt: noon + 3 * hourMs, last: { dueAt: noon + 2 * hourMs } })
    expect((await session.runs()).items.map(({ runId }) => runId)).toContain(listed?.last?.runId)
    await runtime.stop()
    expect(faults).toEqual([])
  })

  it('S210: at sends one input, and then the schedule is removed', async () => {
    const { runtime, model, clock, session } = await started()
    await session.schedule({ at: noon + minuteMs, input: 'once', runtimeParams: { temperature: 0.5 } })
    await clock.advance(dayMs)
    expect(model.calls.map(({ temperature }) => temperature)).toEqual([0.5])
    expect(await session.schedules.list()).toEqual([])
    await runtime.stop()
  })

  it('S210, S211: cron in a time zone works across a change of the clocks', async () => {
    const clock = manualClock(Date.UTC(2026, 9, 24, 12))
    const { runtime } = setup({ steps: answers(5), clock })
    await runtime.start()
    const session = runtime.session('room:1')
    expect(await session.schedule({ id: 'daily', cron: '30 2 * * *', timeZone: 'Europe/Berlin', input: 'hello' })).toMatchObject({
      cron: '30 2 * * *',
      timeZone: 'Europe/Berlin',
    })
    for (let hour = 0; hour < 72; hour++) await clock.advance(hourMs)
    expect(await inputs(session)).toEqual(
      ['2026-10-25T00:30', '2026-10-26T01:30', '2026-10-27T01:30'].map((time) => `schedule:daily:${time}:00.000Z`),
    )
    await runtime.stop()
  })

  it.each([
    ['once', ['13:00']],
    ['skip', []],
    ['all', ['13:00', '14:00', '15:00']],
  ] as const)('S210: after three times at which no process ran, %s sends %j', async (onMissed, sent) => {
    const clock = manualClock(noon)
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const first = setup({ steps: [], clock, store })
    await first.runtime.start()
    await first.runtime.session('room:1').schedule({ id: 's', every: hourMs, input: 'hello', onMissed })
    await first.runtime.stop()
    await clock.advance(3 * hourMs + 2 * minuteMs)
    const { runtime } = setup({ steps: answers(4), clock, store })
    await runtime.start()
    const session = runtime.session('room:1')
    await clock.advance(0)
    expect(await inputs(session)).toEqual(sent.map((time) => `schedule:s:2026-11-26T${time}:00.000Z`))
    expect((await session.schedules.list()).map(({ nextAt }) => nextAt)).toEqual([noon + 4 * hourMs])
    await clock.advance(58 * minuteMs)
    expect((await inputs(session)).at(-1)).toBe('schedule:s:2026-11-26T16:00:00.000Z')
    await runtime.stop()
    await store.close()
  })

  it('S210: each time, one of several processes sends the input', async () => {
    const clock = manualClock(noon)
    const store = memoryStore()
    const all = [1, 2, 3].map(() => setup({ steps: answers(20), clock, store }))
    for (const { runtime } of all) await runtime.start()
    const session = all[0]?.runtime.session('room:1')
    if (!session) throw new Error('There is no session.')
    await session.schedule({ id: 's', every: minuteMs, input: 'hello' })
    for (let minute = 0; minute < 12; minute++) await clock.advance(minuteMs)
    const ids = await inputs(session)
    expect(ids).toHaveLength(12)
    expect(new Set(ids).size).toBe(12)
    for (const { runtime, faults } of all) {
      await runtime.stop()
      expect(faults).toEqual([])
    }
  })

  it.each(['paused', 'deleted', 'sent'] as const)(
    'S210: a process that saw the time before the schedule was %s sends nothing',
    async (how) => {
      const { runtime, clock, session } = await started()
      await session.schedule({ id: 's', every: hourMs, input: 'hello' })
      const [seen] = (await runtime.store.listTimers({ kind: 'schedule' })).items
      if (how === 'paused') await session.schedules.pause('s')
      if (how === 'deleted') await session.schedules.delete('s')
      await clock.advance(hourMs)
      await runtime.sweep()
      const before = [await inputs(session), await session.schedules.list()]
      const context = { store: runtime.store, clock, ids: fakeIds(), live: new LiveLog(), wake: () => undefined }
      expect(await fireSchedule(context, seen ?? expect.unreachable())).toBe('kept')
      expect([await inputs(session), await session.schedules.list()]).toEqual(before)
      await runtime.stop()
    },
  )

  it('S210: a clock that is set back or forward sends no time twice', async () => {
    const { clock, advance, setBack } = settableClock(noon)
    const { runtime } = setup({ steps: answers(10), clock })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.schedule({ id: 's', every: hourMs, input: 'hello' })
    await advance(hourMs)
    setBack(dayMs)
    for (let hour = 0; hour < 26; hour++) await advance(hourMs)
    expect(await inputs(session)).toEqual(['13:00', '14:00', '15:00'].map((time) => `schedule:s:2026-11-26T${time}:00.000Z`))
    setBack(-4 * hourMs)
    await runtime.sweep()
    setBack(2 * hourMs)
    for (let hour = 0; hour < 4; hour++) await advance(hourMs)
    // Four times were missed at once, and the clock has shown some of them twice.
    expect((await inputs(session)).slice(3)).toEqual(['16:00', '20:00', '21:00'].map((time) => `schedule:s:2026-11-26T${time}:00.000Z`))
    await runtime.stop()
  })

  it('S210: the same options under an id are the same schedule, other options are refused', async () => {
    const { runtime, session } = await started()
    const options: ScheduleOptions = { id: 's', cron: '@daily', input: 'hello' }
    const first = await session.schedule(options)
    expect(await session.schedule({ ...options, onMissed: 'once', timeZone: 'UTC' })).toEqual(first)
    await expect(session.schedule({ ...options, input: 'other' })).rejects.toMatchObject({ code: 'id-reused' })
    expect(await session.schedules.list()).toEqual([first])
    await runtime.stop()
  })

  it('S210: a paused schedule sends nothing, and continues with the next time after its resume', async () => {
    const { runtime, model, clock, session } = await started()
    await session.schedule({ id: 's', every: hourMs, input: 'hello' })
    expect(await session.schedules.pause('s')).toMatchObject({ status: 'paused', nextAt: null })
    expect(await session.schedules.pause('s')).toMatchObject({ status: 'paused' })
    await clock.advance(5.5 * hourMs)
    expect(model.calls).toHaveLength(0)
    expect(await session.schedules.resume('s')).toMatchObject({ status: 'active', nextAt: noon + 6 * hourMs })
    await clock.advance(hourMs)
    expect(await inputs(session)).toEqual(['schedule:s:2026-11-26T18:00:00.000Z'])
    await runtime.stop()
  })

  it('S210: if the only time of a schedule passes while it is paused, it is late when it is resumed', async () => {
    const { runtime, clock, session } = await started()
    await session.schedule({ id: 'late', at: noon + hourMs, input: 'hello' })
    await session.schedule({ id: 'skipped', at: noon + hourMs, input: 'hello', onMissed: 'skip' })
    for (const id of ['late', 'skipped']) await session.schedules.pause(id)
    await clock.advance(2 * hourMs)
    for (const id of ['late', 'skipped']) await session.schedules.resume(id)
    await clock.advance(0)
    expect(await inputs(session)).toEqual(['schedule:late:2026-11-26T13:00:00.000Z'])
    expect(await session.schedules.list()).toEqual([])
    await runtime.stop()
  })

  it('S210: a deleted schedule sends nothing more, and the runs that it started go on', async () => {
    const { runtime, clock, session } = await started()
    await session.schedule({ id: 's', every: hourMs, input: 'hello' })
    await clock.advance(hourMs)
    expect(await session.schedules.delete('s')).toBe(true)
    expect(await session.schedules.delete('s')).toBe(false)
    await clock.advance(3 * hourMs)
    expect(await inputs(session)).toHaveLength(1)
    for (const act of ['pause', 'resume'] as const)
      await expect(session.schedules[act]('s')).rejects.toMatchObject({ code: 'unknown-schedule' })
    await runtime.stop()
  })

  it('S210: schedules end with their session, and a kill pauses them', async () => {
    const { runtime, clock, session } = await started()
    await session.schedule({ id: 's', every: hourMs, input: 'hello' })
    await session.kill()
    const again = runtime.session('room:1')
    expect(await again.schedules.list()).toMatchObject([{ id: 's', status: 'paused' }])
    await clock.advance(2 * hourMs)
    expect(await inputs(again)).toEqual([])
    await again.schedules.resume('s')
    await again.delete()
    await clock.advance(2 * hourMs)
    expect(await runtime.store.listTimers({ kind: 'schedule' })).toEqual({ items: [] })
    await expect(again.schedules.list()).rejects.toMatchObject({ code: 'session-deleted' })
    const brief = runtime.session('brief', { ttl: { maxAgeMs: hourMs + 1 } })
    await brief.schedule({ id: 's', every: hourMs, input: 'hello' })
    await clock.advance(10 * hourMs)
    expect(await inputs(brief)).toHaveLength(1)
    expect(await brief.schedules.list()).toEqual([])
    await expect(brief.schedule({ every: hourMs, input: 'hello' })).rejects.toMatchObject({ code: 'session-expired' })
    await runtime.stop()
  })

  it.each([
    ['queue', ['02', '04', '06']],
    ['skip', ['02', '06']],
  ] as const)('S210: while a run is open, %s sends %j', async (onBusy, sent) => {
    const script = heldScript(answers(3))
    const { runtime, clock, session } = await started({ steps: script.steps })
    await session.schedule({ id: 's', every: 2000, input: 'hello', onBusy })
    await clock.advance(2000)
    await script.reached(0)
    await clock.advance(2000)
    // Waits until the sweep that the clock has started is over.
    await runtime.sweep()
    for (const place of [0, 1, 2]) script.answer(place)
    const [first] = (await session.runs()).items
    await collect(session.events({ runId: first?.runId ?? '' }))
    await clock.advance(2000)
    expect(await inputs(session)).toEqual(sent.map((second) => `schedule:s:2026-11-26T12:00:${second}.000Z`))
    expect((await session.schedules.list()).map(({ nextAt }) => nextAt)).toEqual([noon + 8000])
    await runtime.stop()
  })

  it.each([
    ['is sent while only hooks after the end of a turn run', 'hello', ['04']],
    ['is not sent if another run is queued behind them', 'other', []],
  ])('S210: with skip an input %s', async (_what, text, sent) => {
    const hook = gate()
    let hooked = 0
    const slow = defineExtension({
      name: 'slow',
      timeoutMs: 60_000,
      hooks: { onSettled: () => (hooked++ === 0 ? hook.passed : undefined) },
    })
    const { runtime, clock, session } = await started({ steps: answers(3), agent: { extensions: [slow] } })
    const first = await session.send('first')
    for await (const event of session.events()) if (event.type === 'settled') break
    await session.schedule({ id: 's', every: 4000, input: 'hello', onBusy: 'skip' })
    const other = text === 'other' ? await session.send(text) : undefined
    await clock.advance(4000)
    await runtime.sweep()
    hook.open()
    await Promise.all([first.result(), other?.result()])
    expect((await inputs(session)).filter((id) => id?.startsWith('schedule:'))).toEqual(
      sent.map((second) => `schedule:s:2026-11-26T12:00:${second}.000Z`),
    )
    await runtime.stop()
  })

  it('S210: an input that finds the queue full is sent once there is room', async () => {
    const script = heldScript(answers(3))
    const { runtime, clock, session } = await started({ steps: script.steps })
    const first = await session.send('first')
    await script.reached(0)
    for (let place = 0; place < 1000; place++) await session.send(`input ${place}`)
    await session.schedule({ id: 's', at: noon + minuteMs, input: 'hello' })
    await clock.advance(2 * minuteMs)
    expect((await session.runs({ newestFirst: true, limit: 1 })).items[0]?.inputId).toBeUndefined()
    expect(await session.schedules.list()).toMatchObject([{ id: 's', nextAt: noon + minuteMs }])
    await session.stop({ scope: 'all', waitMs: 0 })
    script.answer(0)
    await first.result()
    await clock.advance(minuteMs)
    expect((await session.runs({ newestFirst: true, limit: 1 })).items[0]).toMatchObject({ inputId: 'schedule:s:2026-11-26T12:01:00.000Z' })
    script.answer(1)
    await runtime.stop()
  })

  it('S210: if a caller sent an input under the id of a time, that time counts as sent', async () => {
    const { runtime, clock, session } = await started()
    await session.schedule({ id: 's', every: hourMs, input: 'hello' })
    await session.send('other', { id: 'schedule:s:2026-11-26T13:00:00.000Z' })
    await clock.advance(2 * hourMs)
    expect(await inputs(session)).toEqual(['13:00', '14:00'].map((time) => `schedule:s:2026-11-26T${time}:00.000Z`))
    await runtime.stop()
  })

  it('S210: schedules of all sessions are listed in pages', async () => {
    const { runtime } = await started()
    for (const key of ['b', 'a', 'c']) await runtime.session(key).schedule({ id: 's', every: hourMs, input: 'hello' })
    const first = await runtime.schedules({ limit: 2 })
    expect(first.items.map(({ session }) => session)).toEqual(['a', 'b'])
    const { next = '' } = first
    expect((await runtime.schedules({ limit: 2, page: next })).items.map(({ session }) => session)).toEqual(['c'])
    await runtime.stop()
  })

  it('S210: a session has at most 100 schedules', async () => {
    const { runtime, session } = await started()
    for (let place = 0; place < 100; place++) await session.schedule({ every: hourMs, input: 'hello' })
    await expect(session.schedule({ every: hourMs, input: 'hello' })).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('100 schedules') as string,
    })
    expect(await session.schedules.list()).toHaveLength(100)
    await runtime.stop()
  })

  it.each<[string, object, string]>([
    ['no rule', { input: 'x' }, 'exactly one of cron, every and at; received none'],
    ['two rules', { every: 1000, at: noon + 1, input: 'x' }, 'received every and at'],
    ['a zone without cron', { every: 1000, timeZone: 'UTC', input: 'x' }, 'timeZone is allowed only with cron'],
    ['an unknown zone', { cron: '@daily', timeZone: 'Mars/Base', input: 'x' }, 'timeZone must be the IANA name'],
    ['a rule that cannot be read', { cron: 'at noon', input: 'x' }, 'cron must be a rule of five fields'],
    ['seconds', { cron: '* * * * * *', input: 'x' }, 'cron must be a rule of five fields'],
    ['a day that never comes', { cron: '0 0 30 2 *', input: 'x' }, 'cron has no next time'],
    ['a time that has passed', { at: noon, input: 'x' }, 'at must be a time in the future'],
    ['a fraction of a second', { every: 999, input: 'x' }, 'every must be a whole number from 1000'],
    ['no input', { every: 1000 }, 'input must be an input'],
    ['answers as input', { every: 1000, input: { toolResults: [{ toolCallId: 'a', output: 'b' }] } }, 'Answers are no input'],
    [
      'an unknown option',
      { every: 1000, input: 'x', timezone: 'UTC' },
      'schedule.options has no option "timezone"; did you mean timeZone?',
    ],
    ['a long id', { every: 1000, input: 'x', id: 'x'.repeat(151) }, 'id must be a text of 1 to 150 bytes'],
    ['a policy that there is not', { every: 1000, input: 'x', onMissed: 'never' }, 'onMissed must be one of once, skip, all'],
  ])('S210, S211: %s is refused by name, and nothing is written', async (_name, options, message) => {
    const { runtime, session } = await started()
    await expect(session.schedule(options as ScheduleOptions)).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining(message) as string,
    })
    expect(await session.info()).toBeNull()
    await runtime.stop()
  })
})
