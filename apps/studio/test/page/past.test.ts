import type { DurableEvent } from '@bowline/agent-loop/events'
import { describe, expect, it } from 'vitest'
import { createHistory } from '../../src/page/past/history.ts'
import { jump } from '../../src/page/past/jump.ts'
import { foldMoment, momentBefore } from '../../src/page/past/moment.ts'
import { sumSpent } from '../../src/page/past/spending.ts'
import { claimOf, damageOf } from '../../src/page/story/crashes.ts'
import { log, opening } from './event-log.ts'
import type { Facts } from './event-log.ts'

const user = (id: string): Facts => ({
  type: 'user-message',
  messageId: id,
  source: 'user',
  message: { role: 'user', id, content: id, at: 0 },
})
const answer = (id: string, content: readonly object[] = []): Facts => ({
  type: 'message-end',
  messageId: id,
  attempt: 1,
  message: {
    role: 'assistant',
    id,
    content,
    stopReason: content.length > 0 ? 'tool-calls' : 'stop',
    usage: { inputTokens: 2, outputTokens: 1 },
    at: 0,
  },
})
const call = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'get_weather', input: { city: 'Oslo' } })
const started = (toolCallId: string, attempt = 1): Facts => ({
  type: 'tool-execution-start',
  toolCallId,
  toolName: 'get_weather',
  label: 'Weather',
  input: { city: toolCallId },
  attempt,
  idempotencyKey: `key/${toolCallId}`,
  effect: 'pure',
})
const ended = (toolCallId: string, status = 'result'): Facts => ({
  type: 'tool-execution-end',
  toolCallId,
  executed: 'here',
  durationMs: 1,
  message: {
    role: 'tool-result',
    id: `r/${toolCallId}`,
    toolCallId,
    toolName: 'get_weather',
    output: { type: 'text', value: 'x' },
    status,
    index: 0,
    at: 0,
  },
})
const takeover: Facts = { type: 'turn-start', resumed: true, attempt: 2, cause: 'takeover' }

function durable(build: ReturnType<typeof log>): readonly DurableEvent[] {
  return build.events as readonly DurableEvent[]
}

const idsAt = (events: readonly DurableEvent[], count = events.length): readonly (string | undefined)[] =>
  createHistory()
    .at(events, count)
    .view.messages.map(({ id }) => id)

describe('the past', () => {
  it('D54: a thousand events are shown in any order, each as by a fresh fold', () => {
    const build = log().commit(0, ...opening)
    for (let turn = 0; turn < 250; turn++)
      build.commit(1, user(`u${turn}`), answer(`m${turn}`)).commit(1, { type: 'settled' }, { type: 'save-point' })
    const events = durable(build)
    const history = createHistory()
    for (const count of [1000, 3, 999, 500, 501, 499, 100, 101, 0, 1003])
      expect(history.at(events, count)).toEqual(events.slice(0, count).reduce(foldMoment, momentBefore()))
  })

  it('D56: follows a switch to a branch, back again, and to the root', () => {
    const events = durable(
      log()
        .commit(0, user('a'), answer('b'))
        .commit(1, user('c'), answer('d'))
        .commit(1, { type: 'branch-switched', from: 'd', to: 'b' })
        .commit(1, user('e'), answer('f'))
        .commit(1, { type: 'branch-switched', from: 'f', to: 'd' })
        .commit(1, { type: 'branch-switched', from: 'd', to: null }),
    )
    expect(idsAt(events, 5)).toEqual(['a', 'b'])
    expect(idsAt(events, 7)).toEqual(['a', 'b', 'e', 'f'])
    expect(idsAt(events, 8)).toEqual(['a', 'b', 'c', 'd'])
    expect(idsAt(events)).toEqual([])
  })

  it('D54: a log whose beginning is not loaded is no gap', () => {
    const events = durable(
      log()
        .commit(0, ...opening, answer('m1'))
        .commit(1, user('a'), answer('b')),
    ).slice(4)
    expect(createHistory().at(events, 2).view).toMatchObject({ gap: false, messages: [{ id: 'a' }, { id: 'b' }] })
  })

  it('D22: a part with unknown cost makes the sum unknown; an estimate stays marked', () => {
    const known = { inputTokens: 1, outputTokens: 1, cost: 0.5, currency: 'USD', estimated: false }
    expect(sumSpent([known, known])).toEqual({ inputTokens: 2, outputTokens: 2, cost: 1, currency: 'USD', estimated: false })
    expect(sumSpent([known, { inputTokens: 1, outputTokens: 1, estimated: true }, known])).toEqual({
      inputTokens: 3,
      outputTokens: 3,
      currency: 'USD',
      estimated: true,
    })
    expect(sumSpent([known, { ...known, currency: 'EUR' }]).cost).toBeUndefined()
  })
})

describe('a jump', () => {
  const events = durable(
    log()
      .commit(0, ...opening)
      .commit(1, answer('m1', [call('a')]), started('a'))
      .commit(0, ended('a', 'error'))
      .commit(1, takeover, { type: 'settled' }),
  )

  it.each([
    ['commit', 0, 3],
    ['commit', 3, 5],
    ['commit', 5, 6],
    ['tool', 0, 5],
    ['tool', 5, 6],
    ['error', 0, 6],
    ['crash', 0, 7],
    ['crash', 7, undefined],
    ['tool', 6, undefined],
  ] as const)('D54: to the next %s after event %i shows %s events', (target, from, to) => {
    expect(jump(events, from, target)).toBe(to)
  })
})

describe('a crash', () => {
  const weather = log()
    .commit(0, { type: 'turn-start', resumed: false, attempt: 1 }, user('u'))
    .commit(1, answer('m1', [call('Oslo'), call('Lima')]), started('Oslo'), started('Lima'))
    .commit(700, ended('Oslo'))
    .commit(2200, takeover)
    .commit(1, started('Lima', 2))
    .commit(10, ended('Lima'))

  it('D58: shows what was kept, what ran again under which key, and when, below the last message', () => {
    const { byMessage } = createHistory().at(durable(weather), weather.events.length).crashes
    expect(byMessage).toEqual({
      m1: [
        {
          runId: 'run_1',
          seq: 7,
          lostAt: 1701,
          backAt: 3901,
          lostOwner: 'rt_1',
          backOwner: 'rt_1',
          kept: [{ toolCallId: 'Oslo', name: 'Weather (Oslo)' }],
          again: [{ toolCallId: 'Lima', name: 'Weather (Lima)', idempotencyKey: 'key/Lima', effect: 'pure' }],
          askedAgain: false,
          unsure: [],
          messages: 2,
        },
      ],
    })
  })

  it('D26, D58: a once call is shown as unsure, and an answer that was being written as requested again', () => {
    const build = log()
      .commit(0, { type: 'turn-start', resumed: false, attempt: 1 }, user('u'))
      .commit(1, { type: 'message-start', messageId: 'm1', attempt: 1, model: { provider: 'offline', modelId: 'x' } })
      .commit(9, takeover)
      .commit(1, { type: 'message-discarded', messageId: 'm1', reason: 'crash' }, answer('m2', [call('pay')]), started('pay'))
      .commit(9, takeover)
      .commit(1, {
        type: 'awaiting-tools',
        pendingToolCalls: [{ toolCallId: 'pay', toolName: 'get_weather', input: {}, path: [], agent: [], unknown: true }],
      })
    const { byMessage } = createHistory().at(durable(build), build.events.length).crashes
    expect(byMessage).toMatchObject({
      u: [{ askedAgain: true, kept: [], again: [] }],
      m2: [{ askedAgain: false, again: [], unsure: [{ toolCallId: 'pay', name: 'Weather' }] }],
    })
  })

  it.each([
    ['no call ran again', [], 'No tool ran twice.'],
    ['a pure call ran again', [started('Lima', 2)], 'No effect happened twice.'],
    ['a once call ran again by decision of a reader', [{ ...started('Lima', 2), effect: 'once' }], undefined],
  ] as const)('D58: claims only what is true if %s', (_, again, claim) => {
    const build = log()
      .commit(0, { type: 'turn-start', resumed: false, attempt: 1 }, user('u'), answer('m1', [call('Lima')]), started('Lima'))
      .commit(1, takeover, ...again)
    const { view, crashes, starts } = createHistory().at(durable(build), build.events.length)
    const [crash] = crashes.byMessage['m1'] ?? []
    if (!crash) throw new Error('no crash')
    const damage = damageOf(crash, view, starts, () => true)
    expect(damage).toEqual({ lost: 0, doubled: 0 })
    expect(claimOf(crash, damage)).toBe(claim)
    expect(claimOf(crash, { lost: 1, doubled: 0 })).toBeUndefined()
    expect(claimOf(crash, { lost: 0, doubled: 1 })).toBeUndefined()
  })

  it('a turn that was resumed for another reason is not a crash, and the next turn begins without its calls', () => {
    const build = log()
      .commit(0, { type: 'turn-start', resumed: false, attempt: 1 }, user('u'), answer('m1', [call('a')]), started('a'), ended('a'))
      .commit(1, { type: 'turn-start', resumed: true, attempt: 1, cause: 'answers' })
      .commit(1, { type: 'turn-start', resumed: false, attempt: 1 }, user('v'), answer('m2'))
      .commit(1, takeover)
    const { byMessage } = createHistory().at(durable(build), build.events.length).crashes
    expect(Object.entries(byMessage).map(([id, crashes]) => [id, crashes.map(({ kept }) => kept)])).toEqual([['m2', [[]]]])
  })
})
