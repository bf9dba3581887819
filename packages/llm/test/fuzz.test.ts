import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
import type { AssistantMessage, AssistantPart, LanguageModelV4StreamPart, MessageEvent } from '../src/index.ts'
import { eventFaults } from './fuzz/event-grammar.ts'
import { longestMs, observe, type Abort, type Observed, type ReaderPlan, type Scenario } from './fuzz/observe.ts'
import { brokenParts, disorderlyParts, orderlyParts } from './fuzz/parts.ts'
import { expectedOf } from './fuzz/reference.ts'
import { quietly, scenarioOf, slowlyRead, timedScenario } from './fuzz/scenarios.ts'
import { expectedEnd } from './fuzz/timetable.ts'
import { asJson } from './fuzz/values.ts'
import { settle } from './support.ts'

const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

/** Runs scenarios until one breaks a rule. fast-check then prints the smallest one and its seed. */
async function hold(
  scenarios: fc.Arbitrary<Scenario>,
  numRuns: number,
  check: (observed: Observed, scenario: Scenario) => void,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      unhandled.length = 0
      const observed = await observe(scenario)
      await settle()
      expect([...observed.faults, ...eventFaults(observed.events, observed.message, observed)]).toEqual([])
      expect(unhandled).toEqual([])
      check(observed, scenario)
    }),
    randomRuns(numRuns),
  )
}

/** Compares with Node's equality, which treats keys like `constructor` as ordinary. */
function expectContent({ content }: AssistantMessage, expected: readonly AssistantPart[]): void {
  if (!isDeepStrictEqual(content, expected)) expect(inspect(content, shown)).toBe(inspect(expected, shown))
}

const shown = { depth: 9, breakLength: 60 }
const nothingMore = (): void => {}

describe('streams as they come', () => {
  it('L1–L16: parts in order make the message that the rules require', async () => {
    await hold(quietly(orderlyParts), 400, ({ message, provider }) => {
      expectContent(message, expectedOf(provider.taken).content)
    })
  })

  it('L1–L16: parts in any order, lost, duplicated and broken off, make the message that the rules require', async () => {
    await hold(quietly(disorderlyParts), 400, ({ message, provider }) => {
      const { content, failed } = expectedOf(provider.taken)
      expectContent(message, content)
      if (failed) expect(message.stopReason).toBe('error')
    })
  })

  it('L1–L16: whatever a provider sends, the events follow the grammar and the call ends', async () => {
    await hold(quietly(brokenParts), 400, nothingMore)
  })
})

describe('complete calls', () => {
  it('L1–L34: aborts, time limits, readers and providers of every kind follow the rules', async () => {
    await hold(scenarioOf(disorderlyParts), 600, checkAbort)
  })

  it('L1–L34: also with parts that break the contract', async () => {
    await hold(scenarioOf(brokenParts), 300, checkAbort)
  })

  it('L24–L26, L34: a call ends when and how its parts and its limits require', async () => {
    const seen = new Set<string>()
    await hold(timedScenario, 500, ({ message, provider: { taken } }, { provider, timeouts }) => {
      checkError(message, taken as readonly LanguageModelV4StreamPart[])
      const end = expectedEnd(provider, timeouts)
      if (!end || end.betweenMs[1] > longestMs) return
      seen.add(end.why)
      const [from, to] = end.betweenMs
      expect(message.timing.totalMs).toBeGreaterThanOrEqual(from)
      expect(message.timing.totalMs).toBeLessThanOrEqual(to)
      const { kind, code } = message.error ?? {}
      if (end.why === 'idle' || end.why === 'first-part') expect({ kind, code }).toEqual({ kind: 'timeout', code: end.why })
      else if (end.why !== 'total') expect(kind).not.toBe('timeout')
    })
    expect([...seen].sort()).toEqual(['first-part', 'grace', 'idle', 'its own end', 'total'])
  })

  it('L35: however slow a reader is, a provider that answers at once never times out', async () => {
    await hold(slowlyRead(orderlyParts), 100, ({ message }) => {
      expect(message.error?.kind).not.toBe('timeout')
    })
  })
})

describe('events that are pulled and events that are pushed', () => {
  const read = async (scenario: Scenario, mode: ReaderPlan['mode']): Promise<Observed> => {
    const observed = await observe({ ...scenario, reader: { ...scenario.reader, mode } })
    await settle()
    return observed
  }

  it.each([
    ['parts in any order', quietly(disorderlyParts)],
    ['parts that are not what the contract says', quietly(brokenParts)],
    ['parts with pauses and limits', timedScenario],
  ])('L1–L35: are the same: %s', async (_, scenarios) => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const [asked, handed] = [await read(scenario, 'loop'), await read(scenario, 'push')]
        expect([...asked.faults, ...handed.faults]).toEqual([])
        const [expected, seen] = [withoutIds(asked.events), withoutIds(handed.events)]
        if (!isDeepStrictEqual(seen, expected)) expect(inspect(seen, shown)).toBe(inspect(expected, shown))
      }),
      randomRuns(200),
    )
  })
})

/** Removes message ids, which differ between calls. */
function withoutIds(events: readonly MessageEvent[]): readonly unknown[] {
  return events.map((event) => {
    if (event.type === 'message-start') return { ...event, messageId: '' }
    return event.type === 'message-end' ? { ...event, message: { ...event.message, id: '' } } : event
  })
}

/** L24, L25: the first error is kept. After a finish, only an error of the provider itself counts. */
function checkError({ stopReason, error, content }: AssistantMessage, taken: readonly LanguageModelV4StreamPart[]): void {
  const first = taken.find((part) => part.type === 'error')
  if (first && stopReason !== 'aborted') expect(error?.message).toBe((first.error as Error).message)
  else if (taken.some((part) => part.type === 'finish')) expect(stopReason).toBe(content.length > 0 ? 'stop' : 'error')
}

/** L30, L31, L33: an abort ends the call immediately, unless it comes too late. */
function checkAbort({ message, left, abort, provider }: Observed, { startsAborted, provider: plan }: Scenario): void {
  const endedAt = message.at + message.timing.totalMs
  if (startsAborted) {
    expect(message).toMatchObject({ stopReason: 'aborted', abortReason: 'from the start', content: [] })
    expect(provider.calls).toBe(0)
  } else if (message.stopReason === 'aborted' && !left) {
    expect(endedAt).toBe(abort?.atMs)
    if (abort) expect(message.abortReason).toBe(reasonOf(abort))
  }
  if (!abort || startsAborted) return
  if (plan.shape === 'pull' && abort.finishTaken) expect(message.stopReason).not.toBe('aborted')
  if (message.stopReason !== 'aborted' && !abort.finishTaken) expect(endedAt).toBeLessThanOrEqual(abort.atMs)
}

function reasonOf({ by, reason }: Abort): string | undefined {
  if (reason === undefined) return by === 'signal' ? 'This operation was aborted' : undefined
  const said: unknown = reason instanceof Error ? reason.message : reason
  return (typeof said === 'string' ? said : JSON.stringify(asJson(said))).slice(0, 500)
}
