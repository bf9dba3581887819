import fc from 'fast-check'
import type { Disturbance, ReaderPlan, Scenario } from './observe.ts'
import type { Item, ProviderPlan } from './provider.ts'
import { oddValue } from './values.ts'

const shortMs = fc.constantFrom(0, 1, 10, 100, 240, 260, 700, 1_100)

/** The parts, with pauses between some of them. */
const itemsOf = (parts: fc.Arbitrary<unknown[]>): fc.Arbitrary<Item[]> =>
  fc
    .tuple(parts, fc.array(fc.tuple(fc.nat(30), shortMs), { maxLength: 3 }))
    .map(([all, pauses]) =>
      all.flatMap((part, place): Item[] => [...pauses.filter(([at]) => at === place).map(([, sleepMs]) => ({ sleepMs })), { part }]),
    )

const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3 * others.length, arbitrary: fc.constant(usual) }, ...others.map((other) => fc.constant(other)))

const reasons = fc.oneof(
  fc.constantFrom<unknown>(
    'enough',
    '',
    undefined,
    new Error('of an error'),
    Object.assign(new Error('x'), { message: 7 }),
    'x'.repeat(900),
  ),
  oddValue,
)

const reader: fc.Arbitrary<ReaderPlan> = fc.record({
  mode: fc.constantFrom('loop', 'loop', 'burst', 'late', 'push'),
  pausesMs: fc.oneof(fc.constant([]), fc.array(shortMs, { maxLength: 4 })),
  leavesBehind: often<number | undefined>(undefined, 0, 1, 2, 3, 5, 8),
  leavesBy: fc.constantFrom('break', 'throw'),
  asksBehind: often<number | undefined>(undefined, 1, 2, 4),
  waits: fc.boolean(),
})

const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  atMs: fc.constantFrom(0, 5, 20, 40, 120, 250, 500, 1_500),
  kind: fc.constantFrom('abort', 'signal', 'result'),
  reason: reasons,
})

const limit = often<number | undefined>(undefined, 0, 400, 1_600)
const limits = fc.record({ firstPartMs: limit, idleMs: limit, totalMs: limit }).map(definedOnly)
const ends = often<ProviderPlan['ends']>('close', 'throw', 'hang')

/** Numbers whose sums never equal a limit. */
const oddMs = fc.constantFrom(3, 11, 97, 243, 263, 701, 1_103)
const plainParts: readonly object[] = [
  { type: 'text-delta', id: 't', delta: 'a' },
  { type: 'text-delta', id: 't', delta: 'b' },
  { type: 'ping' },
  { type: 'stream-start', warnings: [] },
  { type: 'error', error: new Error('first of two') },
  { type: 'error', error: new Error('second of two') },
  { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage: { inputTokens: {}, outputTokens: {} } },
]

const provider = (parts: fc.Arbitrary<unknown[]>): fc.Arbitrary<ProviderPlan> =>
  fc.record({
    items: itemsOf(parts),
    ends,
    opens: often<ProviderPlan['opens']>('at once', 'late', 'rejects', 'throws', 'never', 'with nothing', 'locked'),
    heedsAbort: fc.boolean(),
    onCancel: often<ProviderPlan['onCancel']>('settles', 'rejects', 'hangs', 'throws'),
    shape: often<ProviderPlan['shape']>('pull', 'piped', 'eager'),
    error: fc.oneof(fc.constantFrom<unknown>(new Error('fetch failed'), new DOMException('no', 'AbortError'), null), oddValue),
  })

/** All combinations of events in one call of a model that sends these parts. */
export const scenarioOf = (parts: fc.Arbitrary<unknown[]>): fc.Arbitrary<Scenario> =>
  fc.record({
    provider: provider(parts),
    reader,
    disturbances: fc.oneof(fc.constant([]), fc.array(disturbance, { maxLength: 2 })),
    timeouts: limits,
    startsAborted: fc.nat(30).map((dice) => dice === 30),
  })

/** A reader that takes all events, immediately or at the end, and never leaves. */
const willing = fc.constantFrom<ReaderPlan['mode']>('loop', 'burst', 'late', 'push').map((mode): ReaderPlan => ({
  mode,
  pausesMs: [],
  leavesBehind: undefined,
  leavesBy: 'break',
  asksBehind: undefined,
  waits: false,
}))

const obliging: Omit<ProviderPlan, 'items'> = {
  ends: 'close',
  opens: 'at once',
  heedsAbort: true,
  onCancel: 'settles',
  shape: 'pull',
  error: new Error('fetch failed'),
}

/** Scenarios about time only: parts with pauses, limits, and an end that may never come. */
export const timedScenario: fc.Arbitrary<Scenario> = fc.record({
  provider: fc
    .tuple(
      fc.array(
        fc.oneof(
          fc.constantFrom(...plainParts).map((part): Item => ({ part })),
          oddMs.map((sleepMs): Item => ({ sleepMs })),
        ),
        { maxLength: 8 },
      ),
      ends,
    )
    .map(([items, end]) => ({ ...obliging, items, ends: end })),
  reader: willing,
  disturbances: fc.constant([]),
  timeouts: limits,
  startsAborted: fc.constant(false),
})

/** A provider that never delays, with a reader that does. */
export const slowlyRead = (parts: fc.Arbitrary<unknown[]>): fc.Arbitrary<Scenario> =>
  fc.record({
    provider: parts.map((all) => ({ ...obliging, items: all.map((part) => ({ part })) })),
    reader: fc
      .tuple(willing, fc.array(shortMs, { minLength: 1, maxLength: 4 }))
      .map(([plan, pausesMs]) => ({ ...plan, mode: 'loop', pausesMs })),
    disturbances: fc.constant([]),
    timeouts: fc.constant({ firstPartMs: 400, idleMs: 400 }),
    startsAborted: fc.constant(false),
  })

/** The same parts, read to the end without disturbance. */
export const quietly = (parts: fc.Arbitrary<unknown[]>): fc.Arbitrary<Scenario> =>
  fc.record({
    provider: parts.map((all) => ({ ...obliging, items: all.map((part) => ({ part })) })),
    reader: willing,
    disturbances: fc.constant([]),
    timeouts: fc.constant({}),
    startsAborted: fc.constant(false),
  })

function definedOnly<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
