import type { ModelPrice } from '@bowline/llm'
import fc from 'fast-check'
import { answerPlans } from './answers.ts'
import type { AnswerPlan } from './answers.ts'
import { hostPlan } from './child-host.ts'
import type { HostPlan } from './child-host.ts'
import { functionPlan } from './functions.ts'
import type { FunctionPlan } from './functions.ts'
import { extensionPlan, guardrailPlan } from './hooks.ts'
import type { ExtensionPlan, GuardrailPlan } from './hooks.ts'

/** An action on a run, this many moments after its start. */
export interface Disturbance {
  readonly kind: 'abort' | 'signal' | 'yield' | 'fenced' | 'steer' | 'overlay' | 'follow-up' | 'reader'
  readonly after: number
}

/** The next action, as far as the conversation allows it. */
export interface RoundPlan {
  readonly disturbances: readonly Disturbance[]
  /** Treatment of an open turn; a turn that waits for nothing continues. */
  readonly answer: 'all' | 'first' | 'mixed' | 'wrong' | 'again' | 'message' | 'close' | 'stop' | 'wait'
  readonly approve: boolean
  readonly edits: boolean
  readonly startsAborted: boolean
  readonly mode: 'live' | 'synchronized'
  readonly driver: { readonly leavesBehind: number | undefined; readonly onBreak: 'continue' | 'abort'; readonly pauseMs: number }
  /** The process dies at this commit, counted from its start. */
  readonly death: { readonly commit: number; readonly when: 'before' | 'after' } | undefined
  readonly onApproval: 'approve' | 'deny' | 'later' | 'open' | 'throw' | 'hang' | 'wrong' | undefined
  /** Compacts on request before the run. */
  readonly compacts: boolean
}

export interface AgentPlan {
  readonly answers: readonly AnswerPlan[]
  readonly summaries: readonly AnswerPlan[]
  readonly child: readonly AnswerPlan[]
  /** Set if the models are functions. */
  readonly functions: { readonly main: readonly FunctionPlan[]; readonly child: readonly FunctionPlan[] } | undefined
  readonly fallback: readonly AnswerPlan[] | undefined
  readonly extensions: readonly ExtensionPlan[]
  readonly guardrail: GuardrailPlan | undefined
  readonly prepareStep: 'none' | 'look' | 'few' | 'throw' | 'hang' | 'wrong'
  readonly stopWhen: 'none' | 'never' | 'second' | 'throw' | 'hang'
  readonly ephemeral: 'none' | 'one' | 'throw' | 'hang'
  readonly instructions: 'text' | 'slow' | 'throw' | 'hang'
  readonly retries: number
  readonly rewind: 'attempt' | 'turn'
  readonly onFailedTurn: 'keep' | 'rewind'
  readonly onUnknownOutcome: 'stop' | 'tell-model'
  readonly compacts: boolean
  readonly limits: {
    readonly maxSteps: number
    readonly maxDepth?: number
    readonly maxToolCalls?: number
    readonly maxTotalTokens?: number
    readonly maxDurationMs?: number
    readonly onBudget?: 'end' | 'ask'
  }
  readonly steering: 'all' | 'one-at-a-time'
  readonly abortGraceMs: number
  readonly toolConcurrency: number
  /** Price of the first model. */
  readonly price?: ModelPrice
}

export interface JournalPlan {
  readonly latencyMs: number
  /** Inputs from elsewhere, each this many moments after the start. */
  readonly inputs: readonly { readonly source: 'steer' | 'notify' | 'overlay'; readonly after: number }[]
  readonly enqueues: boolean
  readonly schedulesCompaction: boolean
  /** Set if the journal runs subagents in its own way. */
  readonly host: HostPlan | undefined
}

export interface Scenario {
  readonly agent: AgentPlan
  readonly journal: JournalPlan
  readonly rounds: readonly RoundPlan[]
  /** Tokens that all its runs and their subagents may use together. */
  readonly maxTotalTokens: number | undefined
}

const moments = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 80 }))

/** Generates the usual value in this many of ten cases. */
function usually<Value>(times: number, usual: Value, ...others: Value[]): fc.Arbitrary<Value> {
  return fc.oneof({ weight: times, arbitrary: fc.constant(usual) }, { weight: 10 - times, arbitrary: fc.constantFrom(...others) })
}

/** Features that every world of a kind has; other worlds have them now and then. */
export interface Emphasis {
  readonly functions?: true
  readonly budget?: true
  readonly sideWork?: true
  readonly host?: true
}

function sometimes<Value>(always: true | undefined, value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return always ? value : fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
}

/** With `breaks`, code of the agent's owner may end the turn; without it, a conversation gets further. */
function agentPlans(breaks: boolean, emphasis: Emphasis): fc.Arbitrary<AgentPlan> {
  const rarely = breaks ? 8 : 10
  return fc.record({
    answers: fc.array(answersFor(emphasis), { minLength: 1, maxLength: 6 }),
    summaries: fc.array(answerPlans(['nobody'], 0), { maxLength: 2 }),
    child: fc.array(answerPlans(['pure', 'once', 'far', 'asked'], 2), { maxLength: 4 }),
    functions: sometimes(
      emphasis.functions,
      fc.record({ main: fc.array(functionPlan, { minLength: 1, maxLength: 4 }), child: fc.array(functionPlan, { maxLength: 2 }) }),
    ),
    fallback: fc.option(fc.array(answerPlans(), { maxLength: 2 }), { nil: undefined, freq: 2 }),
    extensions: breaks ? fc.array(extensionPlan, { minLength: 1, maxLength: 2 }) : fc.constant([]),
    guardrail: breaks ? fc.option(guardrailPlan, { nil: undefined, freq: 2 }) : fc.constant(undefined),
    prepareStep: usually(rarely, 'none', 'look', 'few', 'throw', 'hang', 'wrong'),
    stopWhen: usually(rarely, 'none', 'never', 'second', 'throw', 'hang'),
    ephemeral: usually(rarely, 'none', 'one', 'throw', 'hang'),
    instructions: usually(rarely, 'text', 'slow', 'throw', 'hang'),
    retries: fc.integer({ min: 0, max: 2 }),
    rewind: fc.constantFrom('attempt', 'turn'),
    onFailedTurn: fc.constantFrom('keep', 'rewind'),
    onUnknownOutcome: fc.constantFrom('stop', 'tell-model'),
    compacts: usually(7, false, true),
    limits: limitPlan,
    steering: fc.constantFrom('all', 'one-at-a-time'),
    abortGraceMs: fc.constantFrom(0, 200),
    toolConcurrency: fc.constantFrom(1, 2, 2, 8),
  })
}

function answersFor({ sideWork, host, budget }: Emphasis): fc.Arbitrary<AnswerPlan> {
  if (sideWork)
    return answerPlans(['pure', 'once', 'alone', 'timed', 'far', 'delegate_to_helper'], 3, [
      'spawn',
      'spawn',
      'spawn-two',
      'spawn-briefly',
      'spawn-freely',
      'later',
      'hang',
      'quit',
    ])
  return host || budget ? answerPlans(['delegate_to_helper', 'delegate_to_helper', 'pure', 'far', 'asked'], 3) : answerPlans()
}

const limitPlan: fc.Arbitrary<AgentPlan['limits']> = fc.record(
  {
    maxSteps: usually(8, 6, 1, 2, 3),
    maxToolCalls: usually(8, 20, 2),
    maxTotalTokens: usually(8, 1_000_000, 6_000),
    maxDurationMs: usually(9, 1_000_000, 100),
    onBudget: fc.constantFrom('end', 'ask'),
  },
  { requiredKeys: ['maxSteps'] },
)

const journalPlans = ({ host }: Emphasis): fc.Arbitrary<JournalPlan> =>
  fc.record({
    latencyMs: usually(8, 0, 5),
    inputs: fc.oneof(
      fc.constant([]),
      fc.array(fc.record({ source: fc.constantFrom('steer', 'notify', 'overlay'), after: moments }), { maxLength: 3 }),
    ),
    enqueues: usually(8, false, true),
    schedulesCompaction: usually(8, false, true),
    host: sometimes(host, hostPlan),
  })

const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  kind: fc.constantFrom('abort', 'signal', 'yield', 'fenced', 'steer', 'steer', 'overlay', 'overlay', 'follow-up', 'follow-up', 'reader'),
  after: moments,
})

const roundPlan: fc.Arbitrary<RoundPlan> = fc.record({
  disturbances: fc.oneof(fc.constant([]), fc.array(disturbance, { minLength: 1, maxLength: 4 })),
  answer: usually(6, 'all', 'first', 'mixed', 'wrong', 'again', 'message', 'close', 'stop', 'wait'),
  approve: fc.boolean(),
  edits: fc.boolean(),
  startsAborted: usually(9, false, true),
  mode: usually(8, 'live', 'synchronized'),
  driver: fc.record({
    leavesBehind: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined, freq: 2 }),
    onBreak: fc.constantFrom('continue', 'abort'),
    pauseMs: fc.constantFrom(0, 0, 3),
  }),
  death: fc.option(fc.record({ commit: fc.integer({ min: 1, max: 12 }), when: fc.constantFrom('before', 'after') }), {
    nil: undefined,
    freq: 2,
  }),
  onApproval: usually(7, undefined, 'approve', 'deny', 'later', 'open', 'throw', 'hang', 'wrong'),
  compacts: usually(9, false, true),
})

export const scenarios = (emphasis: Emphasis = {}): fc.Arbitrary<Scenario> =>
  fc.record({
    agent: fc.oneof(agentPlans(false, emphasis), agentPlans(true, emphasis)),
    journal: journalPlans(emphasis),
    rounds: fc.array(roundPlan, { minLength: 1, maxLength: 6 }),
    maxTotalTokens: sometimes(emphasis.budget, fc.constantFrom(2_500, 7_000, 15_000, 1_000_000, 1_000_000)),
  })

/** A round without disturbances, which closes an open turn. */
export const calmRound: RoundPlan = {
  disturbances: [],
  answer: 'close',
  approve: true,
  edits: false,
  startsAborted: false,
  mode: 'live',
  death: undefined,
  onApproval: undefined,
  compacts: false,
  driver: { leavesBehind: undefined, onBreak: 'continue', pauseMs: 0 },
}
