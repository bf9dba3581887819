import type { AnyLanguageModel, JSONObject } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { ScriptedToolCall, Step } from '@bowline/llm/testing'
import fc from 'fast-check'
import { refusal } from '../support/waiting.ts'
import { toolNames, toolActs } from './tools.ts'
import type { ToolAct, ToolName } from './tools.ts'
import type { World } from './world.ts'

export interface CallPlan {
  readonly tool: ToolName | 'delegate_to_helper' | 'nobody'
  readonly act: ToolAct
  readonly ms: number
  /** Only a few ids, so that they repeat; undefined means a unique id. */
  readonly id: number | undefined
  readonly input: 'right' | 'wrong' | 'cut'
}

export const answerEnds = [
  ...['stop', 'length', 'paused', 'unfinished', 'busy', 'slow-down', 'forbidden', 'too-long', 'refused', 'breaks', 'part-error'],
  ...['silent', 'stops-speaking', 'never-ends', 'deaf'],
] as const
export type AnswerEnd = (typeof answerEnds)[number]

/** The model's answer to a request, and how it ends. */
export interface AnswerPlan {
  readonly reasoning: boolean
  readonly text: string
  readonly calls: readonly CallPlan[]
  readonly end: AnswerEnd
  readonly delayMs: number
  readonly chunk: number
  readonly tokens: number
}

function callPlans(tools: readonly CallPlan['tool'][], acts: readonly ToolAct[] = toolActs): fc.Arbitrary<CallPlan> {
  return fc.record({
    tool: fc.constantFrom(...tools),
    act: fc.constantFrom('return', 'return', 'return', ...acts),
    ms: fc.constantFrom(0, 0, 10, 60),
    id: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined, freq: 3 }),
    input: fc.oneof(
      { weight: 10, arbitrary: fc.constant('right' as const) },
      { weight: 1, arbitrary: fc.constantFrom('wrong' as const, 'cut' as const) },
    ),
  })
}

/** Calls that take their time, of tools that must not run at the same time. */
const crowds = fc.array(
  fc.record({
    tool: fc.constantFrom('single', 'single', 'safe', 'pure', 'once', 'alone'),
    act: fc.constant('later'),
    ms: fc.constantFrom(10, 20, 60),
    id: fc.constant(undefined),
    input: fc.constant('right'),
  }),
  { minLength: 4, maxLength: 6 },
)

/** Most answers end well, so that a turn gets further than its first answer. */
export function answerPlans(
  tools: readonly CallPlan['tool'][] = [...toolNames, 'delegate_to_helper', 'nobody'],
  maxCalls = 4,
  acts: readonly ToolAct[] = toolActs,
): fc.Arbitrary<AnswerPlan> {
  const good: fc.Arbitrary<AnswerEnd> = fc.constant('stop')
  return fc.record({
    reasoning: fc.boolean(),
    text: fc.constantFrom('', 'a', 'some more text'),
    calls: fc.oneof(
      { weight: 4, arbitrary: fc.array(callPlans(tools, acts), { maxLength: maxCalls }) },
      { weight: tools.includes('single') ? 1 : 0, arbitrary: crowds },
    ),
    end: fc.oneof({ weight: 8, arbitrary: good }, { weight: 2, arbitrary: fc.constantFrom(...answerEnds) }),
    delayMs: fc.constantFrom(0, 0, 0, 20),
    chunk: fc.integer({ min: 2, max: 20 }),
    tokens: fc.constantFrom(10, 10, 10, 300, 1_500),
  })
}

/** Gives answers in the order of the plan, and then one that ends the turn. Requests for summaries get `summaries`. */
export function plannedModel(
  world: World,
  answers: readonly AnswerPlan[],
  options: { summaries?: readonly AnswerPlan[]; modelId?: string } = {},
): AnyLanguageModel {
  const { summaries = [], modelId = 'planned' } = options
  const counts = { answers: 0, summaries: 0 }
  const next = (kind: keyof typeof counts): AnswerPlan | undefined => (kind === 'answers' ? answers : summaries)[counts[kind]++]
  const model = scriptedModel(
    (call, index) => {
      world.called(call.abortSignal)
      const isSummary = JSON.stringify(call.prompt).includes('You write the summary')
      const plan = next(isSummary ? 'summaries' : 'answers')
      return plan ? stepOf(plan, `${modelId}${index}`) : { text: isSummary ? 'a short summary' : 'the end' }
    },
    { modelId, clock: world.clock.world },
  )
  return world.shown(model)
}

export function stepOf(plan: AnswerPlan, name: string): Step {
  const { reasoning, text, calls, end, delayMs, chunk, tokens } = plan
  const said = text === '' && calls.length === 0 ? 'so' : text
  return {
    ...(reasoning && { reasoning: 'a thought' }),
    ...(said !== '' && { text: said }),
    toolCalls: calls.map((call, place) => callOf(call, `${name}.${place}`)),
    chunk,
    delayMs,
    deltaDelayMs: delayMs > 0 ? 1 : 0,
    usage: { input: tokens, output: 5 },
    ...endings[end],
  }
}

function callOf(plan: CallPlan, name: string): ScriptedToolCall {
  return { id: idOf(plan, name), name: plan.tool, input: plan.input === 'cut' ? { raw: '{"act":"re' } : inputOf(plan, name) }
}

export function idOf({ id }: CallPlan, name: string): string {
  return id === undefined ? `c-${name.replace('.', '-')}` : `c${id}`
}

export function inputOf({ tool, act, ms, input }: CallPlan, name: string): JSONObject {
  if (input !== 'right') return { act: 7 }
  if (tool !== 'delegate_to_helper') return { act, ms }
  return { prompt: `do ${name}`, ...(act === 'keep' && { sessionKey: 'notes' }), ...(act === 'launch' && { run_in_background: true }) }
}

const endings: Readonly<Record<AnswerEnd, Partial<Step>>> = {
  stop: {},
  length: { finish: 'length' },
  paused: { finish: { unified: 'stop', raw: 'pause_turn' } },
  unfinished: { finish: false },
  busy: { error: refusal(503) },
  'slow-down': { error: refusal(429, { retryAfter: 1 }) },
  forbidden: { error: refusal(401) },
  'too-long': { error: refusal(400, { message: 'prompt is too long: 20000 tokens > 10000 maximum' }) },
  refused: { finish: 'content-filter' },
  breaks: { failAfter: { parts: 2, error: new Error('the line broke'), as: 'throw' } },
  'part-error': { failAfter: { parts: 3, error: refusal(529), as: 'part' } },
  silent: { hang: 'before' },
  'stops-speaking': { hang: 'middle' },
  'never-ends': { hang: 'end', finish: false },
  deaf: { hang: 'middle', ignoreAbort: true },
}
