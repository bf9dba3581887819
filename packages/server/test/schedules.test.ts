import type { ScheduleList, ScheduleView } from '@bowline/client'
import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { bench, refusal, say, stores, type Bench } from './support/bench.ts'
import { allFrames } from './support/frames.ts'

const mine = '/api/agent/session/mine/schedules'
const minuteMs = 60_000
const noon = Date.UTC(2026, 10, 26, 12)

const view = async (answer: Response | Promise<Response>) => (await (await answer).json()) as ScheduleView
const listed = async ({ get }: Bench) => ((await (await get(mine)).json()) as ScheduleList).schedules

/** Creates a session with one answered input. */
async function talked(made: Bench): Promise<Bench> {
  await allFrames(await made.execute({ sessionId: 'mine', input: say('first'), context: {} }))
  return made
}

describe.each(stores)('schedules over the $name store', ({ make }) => {
  const answers = [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }]

  it('V103, S210: an input is sent at its times, listed, paused, resumed and deleted', async () => {
    const clock = manualClock(noon)
    const it = await talked(await bench({ store: make(), clock, runtimeOptions: { clock }, steps: answers }))
    const answer = await it.post(mine, { id: 'news', every: minuteMs, input: 'What is new?' })
    expect(answer.status).toBe(201)
    const made = await view(answer)
    expect(made).toEqual({
      id: 'news',
      every: minuteMs,
      status: 'active',
      onMissed: 'once',
      onBusy: 'queue',
      createdAt: noon,
      nextAt: noon + minuteMs,
      input: { role: 'user', content: 'What is new?' },
    })
    expect(await view(it.post(mine, { id: 'news', every: minuteMs, input: 'What is new?' }))).toEqual(made)
    await clock.advance(minuteMs)
    await it.runtime.sweep()
    const [{ last } = made] = await listed(it)
    expect(last?.dueAt).toBe(noon + minuteMs)
    expect(await it.runtime.run(last?.runId ?? '')).toMatchObject({ inputId: 'schedule:news:2026-11-26T12:01:00.000Z' })
    expect(await view(it.post(`${mine}/news/pause`, {}))).toMatchObject({ status: 'paused', nextAt: null })
    expect(await view(it.post(`${mine}/news/resume`, {}))).toMatchObject({ status: 'active', nextAt: noon + 2 * minuteMs })
    expect((await fetch(`${it.url}${mine}/news`, { method: 'DELETE' })).status).toBe(204)
    expect((await fetch(`${it.url}${mine}/news`, { method: 'DELETE' })).status).toBe(204)
    expect(await listed(it)).toEqual([])
    await refusal(it.post(`${mine}/news/pause`, {}), 404, 'unknown-schedule')
  })

  it('V103: an invalid schedule is refused by its place', async () => {
    const clock = manualClock(noon)
    const it = await talked(await bench({ store: make(), clock, runtimeOptions: { clock }, steps: answers }))
    const invalid = async (body: object, path: string) =>
      expect((await refusal(it.post(mine, body), 422, 'invalid-input')).errors?.[0]?.path).toBe(path)
    await invalid({ cron: 'at noon', input: 'x' }, 'cron')
    await invalid({ cron: '0 0 30 2 *', input: 'x' }, 'cron')
    expect((await refusal(it.post(mine, { cron: '0 0 30 2 *', input: 'x' }), 422, 'invalid-input')).detail).toBe(
      'cron: has no next time: no date matches it.',
    )
    await invalid({ cron: '@daily', timeZone: 'Mars/Base', input: 'x' }, 'timeZone')
    await invalid({ at: noon, input: 'x' }, 'at')
    await invalid({ input: 'x' }, '')
    await refusal(it.post(mine, { every: minuteMs - 1, input: 'x' }), 400, 'invalid-body')
    await refusal(it.post(mine, { every: minuteMs, input: ' ' }), 400, 'invalid-body')
    await refusal(it.post(mine, { every: minuteMs, input: 'x', runtimeParams: {} }), 400, 'invalid-body')
    await it.post(mine, { id: 'a', every: minuteMs, input: 'x' })
    await refusal(it.post(mine, { id: 'a', every: minuteMs, input: 'y' }), 422, 'id-reused')
    await refusal(it.post('/api/agent/session/other/schedules', { every: minuteMs, input: 'x' }), 404, 'session-missing')
    expect(await listed(it)).toHaveLength(1)
  })
})
