import { streamMessage } from '@bowline/llm'
import type { AssistantMessage } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import fc from 'fast-check'
import type { ModelFunction, ModelFunctionMessage, ModelFunctionRequest } from '../../src/index.ts'
import { refusal } from '../support/waiting.ts'
import { answerPlans, idOf, inputOf, stepOf } from './answers.ts'
import type { AnswerPlan } from './answers.ts'
import { nonsense, nonsenseCount } from './function-nonsense.ts'
import type { Returned } from './function-nonsense.ts'
import { aborted, fail, ownStream, streamActs } from './function-streams.ts'
import type { StreamAct } from './function-streams.ts'
import type { World } from './world.ts'

const goodActs = ['answer', 'ahead', 'ahead', 'stream', 'own-stream'] as const
const badActs = ['at-once', 'deaf-stream', 'nonsense', 'nonsense', 'throw', 'reject', 'refuse', 'hang', 'late', 'late-error'] as const
export type FunctionAct = (typeof goodActs)[number] | (typeof badActs)[number]

/** The plan for one call of a model function. */
export interface FunctionPlan {
  readonly act: FunctionAct
  /** Answers after the first are buffered for later steps. */
  readonly answers: readonly [AnswerPlan, ...AnswerPlan[]]
  /** True: it returns the results of every second call with the answer. */
  readonly brings: boolean
  readonly counts: boolean
  readonly stream: StreamAct
  readonly nonsense: number
}

export const functionPlan: fc.Arbitrary<FunctionPlan> = fc.record({
  act: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<FunctionAct>(...goodActs) },
    { weight: 4, arbitrary: fc.constantFrom<FunctionAct>(...badActs) },
  ),
  answers: fc.tuple(answerPlans(), answerPlans(), answerPlans()),
  brings: fc.boolean(),
  counts: fc.boolean(),
  stream: fc.constantFrom(...streamActs),
  nonsense: fc.nat({ max: nonsenseCount - 1 }),
})

/** Creates a model that is a function. It follows the plan, and then ends the turn. */
export function plannedFunction(world: World, plans: readonly FunctionPlan[], modelId: string): ModelFunction {
  let asked = 0
  return function planned(request) {
    world.called(request.abortSignal)
    const plan = plans[asked]
    const name = `${modelId}${asked++}`
    return plan ? acts[plan.act]({ world, plan, request, name }) : Promise.resolve([{ role: 'assistant', content: 'the end' }])
  }
}

/** Returns whether it may wait longer than anything else. */
export function functionStandsStill({ act, answers: [{ end }], stream }: FunctionPlan): boolean {
  if (act === 'hang' || act === 'late' || act === 'late-error') return true
  if (act === 'stream' || act === 'deaf-stream') return ['silent', 'stops-speaking', 'never-ends', 'deaf'].includes(end)
  return act === 'own-stream' && ['waits', 'is-deaf', 'cannot-abort', 'never-closes'].includes(stream)
}

interface Asked {
  readonly world: World
  readonly plan: FunctionPlan
  readonly request: ModelFunctionRequest
  readonly name: string
}

const acts: Readonly<Record<FunctionAct, (asked: Asked) => Returned>> = {
  answer: async (asked) => {
    await asked.world.sleep(asked.plan.answers[0].delayMs)
    return messagesOf(asked, 1)
  },
  ahead: (asked) => Promise.resolve(messagesOf(asked, 3)),
  'at-once': (asked) => messagesOf(asked, 2) as never,
  stream: (asked) => scriptedStream(asked, asked.request.abortSignal),
  'deaf-stream': (asked) => scriptedStream(asked, undefined),
  'own-stream': ({ world, plan, request: { abortSignal }, name }) => {
    const [answer] = plan.answers
    const message = {
      ...assistantOf(plan, answer, name),
      id: 'own',
      provider: 'own',
      modelId: 'own',
      usage: {},
      stopReason: 'stop',
      at: plan.nonsense,
      timing: { totalMs: 0 },
    }
    return ownStream({ world, act: plan.stream, message: message as AssistantMessage, abortSignal, delayMs: answer.delayMs })
  },
  nonsense: ({ plan }) => (plan.counts ? Promise.resolve(nonsense(plan.nonsense)) : nonsense(plan.nonsense)) as never,
  throw: () => fail('the function broke'),
  reject: () => Promise.reject(refusal(503)),
  refuse: () => Promise.reject(refusal(401)),
  hang: () => new Promise(() => {}),
  late: async (asked) => {
    await aborted(asked.request.abortSignal)
    await asked.world.sleep(10)
    return messagesOf(asked, 3)
  },
  'late-error': async ({ world, request: { abortSignal } }) => {
    await aborted(abortSignal)
    await world.sleep(10)
    return fail('it was too late')
  },
}

function scriptedStream({ world, plan, request: { messages }, name }: Asked, abortSignal: AbortSignal | undefined): Returned {
  const model = scriptedModel([stepOf(plan.answers[0], name)], { modelId: name, clock: world.clock.world })
  return streamMessage({ model, messages, clock: world.clock.world, ...(abortSignal && { abortSignal }) })
}

function messagesOf({ world, plan, name }: Asked, count: number): readonly ModelFunctionMessage[] {
  return plan.answers.slice(0, count).flatMap((answer, place) => {
    const message = assistantOf(plan, answer, `${name}-${place}`)
    const calls =
      typeof message.content === 'string' ? [] : message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
    const brought = plan.brings ? calls.filter((_id, index) => index % 2 === 0) : []
    // Repeated ids are changed, and then name other calls.
    for (const id of brought) if (id.startsWith('c-')) world.brought.add(id)
    return [
      message,
      ...brought.map((toolCallId) => ({ role: 'tool-result' as const, toolCallId, output: { type: 'text' as const, value: 'by itself' } })),
    ]
  })
}

type Assistant = Extract<ModelFunctionMessage, { role: 'assistant' }>

function assistantOf({ counts }: FunctionPlan, { reasoning, text, calls, end, tokens }: AnswerPlan, name: string): Assistant {
  const named = new Map(calls.map((call, place) => [idOf(call, `${name}.${place}`), call]))
  const content: readonly AssistantMessage['content'][number][] = [
    ...(reasoning ? [{ type: 'reasoning' as const, text: 'a thought' }] : []),
    ...(text === '' && calls.length > 0 ? [] : [{ type: 'text' as const, text: text || 'so' }]),
    ...[...named].map(([toolCallId, call]) => ({
      type: 'tool-call' as const,
      toolCallId,
      toolName: call.tool,
      input: inputOf(call, name),
    })),
  ]
  return {
    role: 'assistant',
    content,
    ...(counts && { usage: { inputTokens: tokens, outputTokens: 5, totalTokens: tokens + 5 } }),
    ...ends[end],
  }
}

const ends: Readonly<Partial<Record<AnswerPlan['end'], Partial<Assistant>>>> = {
  length: { stopReason: 'length' },
  paused: { paused: true },
  busy: { stopReason: 'error', error: { kind: 'overloaded', retryable: true, phase: 'before-output', message: 'busy' } as never },
  forbidden: { stopReason: 'error' },
  'too-long': {
    stopReason: 'error',
    error: { kind: 'context-overflow', retryable: false, phase: 'before-output', message: 'too long' } as never,
  },
  silent: { stopReason: 'aborted' },
}
