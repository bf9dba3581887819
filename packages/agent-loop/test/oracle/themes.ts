import fc from 'fast-check'
import { answerEnds } from '../fuzz/answers.ts'
import type { AnswerEnd } from '../fuzz/answers.ts'
import { hostPlan } from '../fuzz/child-host.ts'
import { functionPlan } from '../fuzz/functions.ts'
import type { FunctionAct } from '../fuzz/functions.ts'
import { guardActs, hookActs, hookNames } from '../fuzz/hooks.ts'
import type { ExtensionPlan, GuardrailPlan, HookName } from '../fuzz/hooks.ts'
import type { AgentPlan, Disturbance, RoundPlan } from '../fuzz/scenarios.ts'
import { toolActs } from '../fuzz/tools.ts'

/** Hooks that may say something, and how many different things. */
const sayings = { onInput: 3, beforeAgentStart: 2, transformContext: 1, beforeModelCall: 5, onToolCall: 5, onToolResult: 5, beforeCompaction: 2 } as const

const sayingHook = fc.constantFrom(...Object.entries(sayings)).chain(([hook, count]) =>
  fc.record({ hook: fc.constant(hook as HookName), act: fc.integer({ min: 1, max: count }).map((number) => `say-${number}` as (typeof hookActs)[number]), every: fc.constantFrom(1, 1, 2) }),
)
const anyHook = fc.record({ hook: fc.constantFrom(...hookNames), act: fc.constantFrom(...hookActs), every: fc.integer({ min: 1, max: 2 }) })
const lookingHook = fc.record({ hook: fc.constantFrom(...hookNames), act: fc.constantFrom('look' as const, 'note' as const), every: fc.constant(1) })

const givingHook = fc.record({
  hook: fc.constantFrom('onTurnStart' as const, 'onStepStart' as const, 'onStepEnd' as const, 'onToolResult' as const, 'onAgentEnd' as const),
  act: fc.constantFrom('steer' as const, 'overlay' as const, 'follow-up' as const, 'compact' as const),
  every: fc.constantFrom(1, 2),
})

const extensions: fc.Arbitrary<readonly ExtensionPlan[]> = fc.array(
  fc.record({
    onError: fc.constantFrom(undefined, undefined, 'ignore', 'fail'),
    deltas: fc.boolean(),
    hooks: fc.uniqueArray(fc.oneof({ weight: 7, arbitrary: sayingHook }, { weight: 2, arbitrary: anyHook }, { weight: 3, arbitrary: lookingHook }, { weight: 1, arbitrary: givingHook }), { selector: ({ hook }) => hook, minLength: 3, maxLength: 6 }),
  }),
  { minLength: 1, maxLength: 2 },
)

const functions: fc.Arbitrary<NonNullable<AgentPlan['functions']>> = fc
  .tuple(fc.array(functionPlan, { minLength: 1, maxLength: 3 }), fc.array(functionPlan, { maxLength: 1 }), fc.boolean())
  .map(([main, child, isGood]) => ({ main: main.map((plan, place) => (isGood ? { ...plan, act: goodActs[(plan.nonsense + place) % goodActs.length] as FunctionAct, stream: 'tells' as const } : plan)), child }))
const goodActs: readonly FunctionAct[] = ['answer', 'ahead', 'stream', 'own-stream']

const guardAct = fc.constantFrom(undefined, undefined, 'warn', 'warn', 'block', 'block', 'halt', 'halt', ...guardActs)

const guardrail: fc.Arbitrary<GuardrailPlan> = fc.record({
  ...{ beforeCall: guardAct, afterCall: guardAct },
  onTurn: fc.constantFrom(undefined, undefined, undefined, 'throw', 'hang'),
  onError: fc.constantFrom('block', 'allow'),
})

/** How answers end, one after the other. */
const ends = fc.oneof(
  { weight: 3, arbitrary: fc.array(fc.constantFrom(...answerEnds), { minLength: 1, maxLength: 2 }) },
  { weight: 5, arbitrary: fc.constantFrom(['stop', 'busy', 'busy', 'busy'], ['stop', 'busy', 'busy', 'busy'], ['stop', 'busy', 'busy', 'busy'], ['stop', 'slow-down'], ['stop', 'part-error'], ['busy'], ['busy', 'busy', 'busy'], ['slow-down'], ['part-error'], ['length', 'length'], ['length', 'length'], ['length', 'length'], ['paused'], ['stop', 'length'], ['paused'], ['stop', 'busy'], ['stop', 'forbidden'] , ['forbidden']) },
) as fc.Arbitrary<readonly AnswerEnd[]>

const oneOf = <const Value>(...values: Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values)

const asked = oneOf<Partial<Pick<AgentPlan, 'prepareStep' | 'stopWhen' | 'ephemeral' | 'instructions'>>>(
  ...(['look', 'few', 'few', 'throw', 'hang', 'wrong'] as const).map((prepareStep) => ({ prepareStep })),
  ...(['never', 'second', 'second', 'second', 'second', 'second', 'throw', 'hang'] as const).map((stopWhen) => ({ stopWhen })),
  ...(['one', 'one', 'throw', 'hang'] as const).map((ephemeral) => ({ ephemeral })),
  ...(['slow', 'throw', 'hang'] as const).map((instructions) => ({ instructions })),
)

const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  kind: oneOf('abort', 'signal', 'yield', 'fenced', 'steer', 'steer', 'overlay', 'overlay', 'follow-up', 'follow-up', 'reader'),
  after: fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 1, max: 16 }) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 60 }) }),
})

const limits: fc.Arbitrary<Partial<AgentPlan['limits']> & { readonly maxCost?: string; readonly maxQueuedInputs?: number }> = oneOf<object>(
  ...[{ maxSteps: 1 }, { maxSteps: 1 }, { maxDepth: 0 }, { maxDepth: 0 }, { maxToolCalls: 0 }, { maxToolCalls: 1 }, { maxTotalTokens: 1_000 }, { maxTotalTokens: 3_000 }, { maxDurationMs: 12 }, { maxDurationMs: 12 }],
  ...[{ maxDurationMs: 40 }, { maxDepth: 0 }, { maxToolCalls: 1 }, { maxCost: '0.005' }, { maxCost: '0.003' }, { maxCost: '0.006' }, { maxCost: '0.004' }, { maxCost: '0.007' }, { maxCost: '1' }, { maxQueuedInputs: 0 }, { maxQueuedInputs: 0 }],
)

/** Two children that a tool spawns at once would take turns by chance. */
const actsApart = toolActs.filter((act) => act !== 'spawn-two')

/** A theme is in one of so many scripts; others are calm about it. */
function within<Value>(scripts: number, theme: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.oneof({ weight: scripts - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: theme })
}

export const death = fc.record({
  commit: fc.integer({ min: 1, max: 7 }),
  when: fc.constantFrom('before', 'after'),
  /** The first that is called. */
  tool: fc.constantFrom('once', 'once', 'wary', 'wary', 'safe', 'delegate_to_helper'),
})

/** What a script may be about. */
export const themes = fc.record({
  ends: within(4, ends),
  fallback: within(8, fc.record({ answers: fc.boolean(), ends: oneOf<readonly AnswerEnd[]>(['forbidden'], ['busy', 'busy', 'busy'], ['refused'], ['too-long']) })),
  retries: fc.record({ retries: fc.integer({ min: 0, max: 2 }), rewind: oneOf('attempt', 'turn'), onFailedTurn: oneOf('keep', 'rewind') }),
  acts: within(3, fc.array(oneOf(...actsApart, ...(['speak-late', 'quit', 'quit', 'flood', 'late', 'compact', 'report', 'hang', 'late', 'flood', 'overlay', 'deaf', 'deaf', 'steer', 'reject', 'not-json', 'large'] as const)), { minLength: 1, maxLength: 4 })),
  /** The first call goes to the subagent, whose first answers these are. */
  nested: within(6, fc.record({ tools: fc.array(oneOf('far', 'asked', 'asked', 'asked', 'pure', 'once'), { minLength: 1, maxLength: 2 }), end: oneOf<AnswerEnd>('stop', 'forbidden', 'forbidden', 'length') })),
  sideWork: within(16, fc.array(oneOf('spawn', 'spawn-briefly', 'spawn-freely'), { minLength: 1, maxLength: 2 })),
  inputs: within(12, fc.array(oneOf('wrong', 'cut', 'nobody', 'twice'), { minLength: 1, maxLength: 2 })),
  extensions: within(3, extensions),
  guardrail: within(5, guardrail),
  asked: within(5, asked),
  limits: within(4, limits),
  disturbances: within(4, fc.array(disturbance, { minLength: 1, maxLength: 3 })),
  death: within(4, death),
  driver: within(8, fc.record({ leavesBehind: oneOf(undefined, 1, 6), onBreak: oneOf('continue', 'abort'), pauseMs: oneOf(0, 3) })),
  onApproval: within(5, oneOf<NonNullable<RoundPlan['onApproval']>>('approve', 'deny', 'deny', 'later', 'open', 'throw', 'hang', 'wrong')),
  orders: within(5, fc.array(oneOf<RoundPlan['answer']>('first', 'mixed', 'wrong', 'again', 'message', 'close', 'stop', 'wait', 'wait'), { minLength: 1, maxLength: 2 })),
  journal: within(4, fc.record({
    latencyMs: oneOf(0, 0, 5),
    inputs: fc.array(fc.record({ source: oneOf('steer', 'notify', 'overlay'), after: fc.integer({ min: 1, max: 14 }) }), { maxLength: 3 }),
    /** One comes when the end of a run is stored. */
    late: fc.constantFrom(true, false, false),
    ...{ enqueues: fc.boolean(), schedulesCompaction: fc.boolean(), followsUp: fc.boolean() },
  })),
  host: within(14, fc.record({ plan: hostPlan, acts: fc.array(oneOf('return', 'keep', 'launch'), { minLength: 1, maxLength: 2 }) })),
  functions: within(2, functions),
  maxTotalTokens: within(10, oneOf(800, 2_500, 7_000, 1_000_000)),
  compaction: within(3, fc.record({ byHand: fc.boolean(), asks: fc.boolean(), overflows: fc.boolean(), tokens: oneOf(1_195, 1_196, 1_500, 1_500, 1_500), at: fc.integer({ min: 0, max: 2 }), schedules: fc.boolean(), summary: within(3, oneOf(...answerEnds)) })),
  repeats: within(11, fc.record({ times: fc.integer({ min: 3, max: 9 }), act: oneOf('throw', 'fail', 'fail', 'return') })),
  /** Where retries and compactions may come, an extension looks at them. */
  watches: within(2, oneOf('look', 'say-1', 'say-2')),
  pinned: within(14, oneOf('all', 'later')),
})
