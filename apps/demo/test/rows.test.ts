import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentEvent, DurableEvent } from '@bowline/agent-loop'
import { isDurable } from '@bowline/agent-loop/events'
import type { ViewMessage } from '@bowline/agent-loop/events'
import { checkEvents } from '@bowline/testing'
import type { Session } from '@bowline/sessions'
import { createHistory, foldMoment, momentBefore } from '@bowline/studio/past'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDemo } from '../src/server/create-demo.ts'
import type { Demo } from '../src/server/create-demo.ts'
import { countEffects } from '../src/server/effects.ts'
import { sessionKeyOf } from '../src/server/session-key.ts'
import { makeDataFolder, removeDataFolder } from './demo-process.ts'
import { manualTime } from './manual-time.ts'

let dataFolder: string
let demo: Demo
let sessions = 0

beforeAll(async () => {
  dataFolder = await makeDataFolder()
  demo = await createDemo({ DEMO_DATA: dataFolder, DEMO_STORE: 'memory:', DEMO_SPEED: '0' })
  await demo.runtime.start()
})

afterAll(async () => {
  await demo.runtime.stop()
  await removeDataFolder(dataFolder)
})

function newSession(): Session {
  return demo.runtime.session(sessionKeyOf(`row${++sessions}`))
}

/** Returns the log of a session until it has settled this number of times. */
async function logOf(session: Session, settled = 1): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  let left = settled
  for await (const event of session.events()) {
    events.push(event)
    if (event.type === 'settled' && --left === 0) break
  }
  return events
}

async function say(text: string, session = newSession()) {
  const run = await session.send(text)
  const result = await run.result()
  return { session, run, ...result }
}

function ofType<Type extends AgentEvent['type']>(events: readonly AgentEvent[], type: Type) {
  return events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type)
}

const callsIn = (events: readonly AgentEvent[]) => ofType(events, 'tool-execution-start').map(({ toolName }) => toolName)

/**
 * Expects that any moment of the past, read in any order, is the fold of the log up to there, and that the last one equals the
 * store.
 */
async function expectPast(session: Session, events: readonly AgentEvent[], copied: readonly ViewMessage[] = []): Promise<void> {
  const log = events.filter((event): event is DurableEvent => isDurable(event))
  const fresh = (count: number) => log.slice(0, count).reduce(foldMoment, momentBefore(copied))
  const history = createHistory(copied)
  const forward = log.map((_, place) => place + 1)
  for (const count of [...forward, ...forward.toReversed(), log.length]) expect(history.at(log, count)).toEqual(fresh(count))
  const { view, spending } = history.at(log, log.length)
  expect(view.messages).toEqual((await session.messages({ limit: 200 })).items)
  expect([view.pendingToolCalls, view.pendingApprovals, view.gap]).toEqual([[], [], false])
  if (copied.length > 0) return
  // The store counts the costs of children separately.
  const ofChildren = ofType(log, 'usage').filter(({ purpose }) => purpose === 'child')
  const stored = [(await session.info())?.cost, ...ofChildren.map(({ cost }) => cost)].reduce(
    (sum, cost) => sum + Number(cost?.total ?? 0),
    0,
  )
  expect(spending.runs.reduce((sum, run) => sum + (run.cost ?? Number.NaN), 0)).toBeCloseTo(stored, 9)
}

/** Calls of each phrase in the log of its session. */
const rows = [
  { text: 'tell me a story', calls: [], answer: 'The knot that remembered' },
  { text: 'what is the weather in Oslo and Lima', calls: ['get_weather', 'get_weather'], answer: '**Lima** is warmer than Oslo' },
  { text: 'index the docs', calls: ['index_docs'], answer: '**18 documents**' },
  {
    text: 'research knots',
    calls: ['delegate_to_researcher', 'background_output'],
    answer: 'The researcher is back.\n\nWhat 3 pages say about knots:',
    settled: 2,
  },
  { text: 'ask the worker', calls: ['delegate'], answer: 'needs about 72 cm' },
  { text: 'ask the colleague', calls: ['delegate'], answer: '> Tied well and with a stopper knot' },
  {
    text: 'make a plan',
    calls: ['plan_start', 'plan_tide', 'plan_crew', 'plan_write', 'plan_review'],
    answer: 'cast off at high water, 09:40',
  },
  { text: 'long talk', calls: ['read_logbook', 'read_logbook', 'read_logbook'], answer: '3 volumes with 360 days' },
  { text: 'pay the invoice', calls: ['pay_invoice'], answer: 'Invoice 2041 is **paid**. The receipt is `R-2041`.' },
  { text: 'fail', calls: [], answer: '**spare model**' },
  { text: 'be slow', calls: [], answer: 'I take my time' },
]

describe('every row of the offline model, in a runtime', () => {
  it.each(rows)('$text', async ({ text, calls, answer, settled = 1 }) => {
    const { session, status } = await say(text)
    expect(status).toBe('completed')
    const events = await logOf(session, settled)
    expect(callsIn(events)).toEqual(calls)
    expect(checkEvents(events)).toEqual([])
    const last = ofType(events, 'message-end').at(-1)?.message.content ?? []
    expect(last.map((part) => (part.type === 'text' ? part.text : '')).join('')).toContain(answer)
    await expectPast(session, events)
  })

  it('D54, D56: the past of a switched session, and of its fork, equals that of the store', async () => {
    const { session } = await say('what is the weather in Oslo')
    const first = (await session.messages()).items.at(-1)?.id ?? ''
    await say('tell me a story', session)
    await session.switchTo(first)
    await say('pay the invoice', session)
    const payments = await countEffects(dataFolder)
    await expectPast(session, await logOf(session, 3))
    const fork = await session.fork({ entryId: first, key: sessionKeyOf('fork') })
    expect((await fork.messages()).items).toEqual((await session.messages()).items.slice(0, 4))
    await say('index the docs', fork)
    await expectPast(fork, await logOf(fork), (await session.messages()).items.slice(0, 4))
    expect(await countEffects(dataFolder)).toEqual(payments)
  })

  it('D22: each answer of the offline model has a cost, at invented prices', async () => {
    const { cost } = await say('tell me a story')
    expect(Number(cost?.total)).toBeGreaterThan(0)
    const events = await logOf((await say('what is the weather in Oslo')).session)
    for (const { message } of ofType(events, 'message-end')) expect(message.cost?.currency).toBe('USD')
  })

  it('the background child reports its steps in the log of the parent, and the parent does not wait for it', async () => {
    const { session, text } = await say('research the sheet bend')
    expect(text).toContain('on its way')
    const events = await logOf(session, 2)
    const [start] = ofType(events, 'child-start')
    expect(start).toMatchObject({
      subagent: 'researcher',
      description: 'research the sheet bend',
      taskId: expect.stringMatching(/^bg_/) as unknown,
    })
    expect(ofType(events, 'child-update').at(-1)?.text).toContain('about the sheet bend')
    expect(ofType(events, 'child-end')).toMatchObject([{ childRunId: start?.childRunId, status: 'completed' }])
    expect(ofType(events, 'runtime-input')).toHaveLength(1)
    expect(ofType(events, 'turn-start').map(({ turn }) => turn)).toEqual([1, 2])
  })

  it('work sent over the bridge is a child of the run, and a runtime agent reports its cost', async () => {
    for (const [text, subagent] of [
      ['ask the worker', 'worker'],
      ['ask the colleague', 'colleague'],
    ] as const) {
      const events = await logOf((await say(text)).session)
      expect(ofType(events, 'child-start')).toMatchObject([{ subagent }])
      expect(ofType(events, 'child-end')).toMatchObject([
        { status: 'completed', ...(subagent === 'colleague' && { cost: { currency: 'USD' } }) },
      ])
    }
  })

  it('D21: a plan goes through its steps, the model is offered the tools of each step, and a second plan starts anew', async () => {
    const { session } = await say('make a plan')
    await say('what is the weather in Oslo', session)
    await say('make a plan', session)
    const events = await logOf(session, 3)
    expect(ofType(events, 'orchestration-step').map(({ name }) => name)).toEqual([
      'look',
      'write',
      'review',
      'free',
      'look',
      'write',
      'review',
      'free',
    ])
    expect((await demo.orchestration.getState(session.key))?.activeStep).toBe('free')
    expect(ofType(events, 'tool-execution-end').map(({ message }) => message.status)).toEqual(Array(11).fill('result'))
  })

  it('a plan that was stopped in a step restores all other tools for the next message', async () => {
    const { session } = await say('make a plan')
    await demo.orchestration.setActiveStep(session.key, 'write')
    const { status, text } = await say('what is the weather in Oslo and Lima', session)
    expect([status, text]).toEqual(['completed', expect.stringContaining('warmer')])
    expect((await demo.orchestration.getState(session.key))?.activeStep).toBe('free')
  })

  it('D20: a long talk is compacted after its turn, and the talk goes on', async () => {
    const { session } = await say('long talk')
    const events = await logOf(session)
    expect(ofType(events, 'compaction-start')).toMatchObject([{ trigger: 'threshold' }])
    const [end] = ofType(events, 'compaction-end')
    expect(end).toMatchObject({ outcome: 'done', compaction: { summary: expect.stringContaining('- "long talk"') as unknown } })
    const { tokensBefore = 0, tokensAfter = Infinity } = end?.compaction ?? {}
    expect(tokensAfter).toBeLessThan(tokensBefore / 2)
    expect(await say('long talk', session)).toMatchObject({ status: 'completed' })
    expect(ofType(await logOf(session, 2), 'compaction-end').map(({ outcome }) => outcome)).toEqual(['done', 'done'])
  })

  it('a provider that fails is retried twice, and then the fallback model answers', async () => {
    const events = await logOf((await say('fail')).session)
    expect(ofType(events, 'retry-start').map(({ cause, error }) => [cause, error?.kind])).toEqual([
      ['error', 'overloaded'],
      ['error', 'overloaded'],
      ['fallback', 'overloaded'],
    ])
    expect(ofType(events, 'message-discarded')).toHaveLength(3)
    expect(ofType(events, 'message-end')).toMatchObject([{ message: { modelId: 'bowline-offline-spare' } }])
  })

  it('where am I waits for the browser and continues with its answer', async () => {
    const { session, run, status, pendingToolCalls } = await say('where am I')
    expect([status, pendingToolCalls.map(({ toolName }) => toolName)]).toEqual(['awaiting-tools', ['get_location']])
    await session.submitToolResults([{ toolCallId: pendingToolCalls[0]?.toolCallId ?? '', output: { place: 'Pier 7' } }])
    expect((await run.result()).text).toContain('**Pier 7**')
  })
})

describe('be slow', () => {
  /** Advances the clock until the run has ended. Returns its outcome and duration. */
  async function slowRun(act?: (session: Session) => Promise<unknown>) {
    const time = manualTime()
    const folder = await makeDataFolder()
    const slow = await createDemo({ DEMO_DATA: folder, DEMO_STORE: 'memory:' }, { clock: time.clock })
    await slow.runtime.start()
    try {
      const session = slow.runtime.session(sessionKeyOf('slow'))
      const run = await session.send('be slow')
      const begin = time.clock.now()
      let words = 0
      for await (const event of run) {
        if (event.type === 'text-delta' && ++words === 3) await act?.(session)
        await time.settle()
        time.advance(1500)
      }
      return { ...(await run.result()), words, tookMs: time.clock.now() - begin }
    } finally {
      await slow.runtime.stop({ graceMs: 0 })
      await removeDataFolder(folder)
    }
  }

  it('ends at the time limit of the turn, with the words so far', async () => {
    const { status, reason, tookMs, words, text } = await slowRun()
    expect([status, reason]).toEqual(['limit', 'max-duration'])
    expect(tookMs).toBeGreaterThanOrEqual(30_000)
    expect(words).toBeGreaterThan(3)
    expect(text).toContain('I take my time')
  })

  it('D18: is stopped in the middle of a word', async () => {
    const { status, tookMs } = await slowRun((session) => session.stop())
    expect(status).toBe('aborted')
    expect(tookMs).toBeLessThan(30_000)
  })
})

describe('delete the report', () => {
  const reports = async () => (await readdir(join(dataFolder, 'reports'))).filter((name) => name.endsWith('.md')).sort()

  async function asked(text = 'delete the report') {
    const { session, run, status, pendingApprovals } = await say(text)
    expect(status).toBe('awaiting-approval')
    return { session, run, approvalId: pendingApprovals[0]?.approvalId ?? '', input: pendingApprovals[0]?.input }
  }

  it('D15: nothing is deleted before a person approves it, or when it is denied', async () => {
    const { session, run, approvalId, input } = await asked()
    expect(input).toEqual({ report: 'q3-draft', forever: true })
    await session.deny(approvalId, { reason: 'we still need it' })
    expect((await run.result()).text).toBe('I have **not** deleted `q3-draft`: we still need it. It is where it was.')
    expect(await reports()).toEqual(['q1-final.md', 'q2-final.md', 'q3-draft.md'])
    expect((await countEffects(dataFolder)).deletions).toBe(0)
  })

  it('D15: changed arguments are checked by the schema, and used for the call', async () => {
    const { session, run, approvalId } = await asked()
    for (const input of [{ report: '../plan', forever: true }, { report: 'q1-final' }, { report: 'q1-final', forever: true, more: 1 }]) {
      await expect(session.approve(approvalId, { input })).rejects.toMatchObject({ code: 'invalid-input' })
    }
    await session.approve(approvalId, { input: { report: 'q1-final', forever: false } })
    expect((await run.result()).text).toContain('`q1-final` is in the bin')
    expect(await reports()).toEqual(['q2-final.md', 'q3-draft.md'])
    expect(await readFile(join(dataFolder, 'reports/bin/q1-final.md'), 'utf8')).toContain('q1-final')
  })

  it('D15: an approved call deletes the file; a second one finds nothing to delete', async () => {
    const first = await asked()
    await first.session.approve(first.approvalId)
    expect((await first.run.result()).text).toBe('`q3-draft` is **deleted** for good.')
    await expect(stat(join(dataFolder, 'reports/q3-draft.md'))).rejects.toThrow('ENOENT')
    const second = await asked()
    await second.session.approve(second.approvalId)
    expect((await second.run.result()).text).toContain('nothing to delete')
    expect((await countEffects(dataFolder)).deletions).toBe(2)
  })

  it('D15: another message replaces the answer', async () => {
    const { session, run } = await asked('delete the report q2-final')
    const next = await session.send('tell me a story', { onBusy: 'interrupt' })
    expect((await next.result()).text).toContain('The knot that remembered')
    expect((await run.result()).status).toBe('aborted')
    expect(await reports()).toEqual(['q2-final.md'])
  })
})
