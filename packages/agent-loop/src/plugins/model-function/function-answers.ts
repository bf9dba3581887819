import { classifyError } from '@bowline/llm'
import type { AssistantMessage, ModelError } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { frozenJson, isRecord } from '../../base/json.ts'
import { clientCalls, isAssistantPart, isOutcomeStatus, isStopReason, isToolOutput, neverRan } from '../../base/messages.ts'
import type { ModelFunctionMessage } from '../../contract/options.ts'
import { failedAnswer } from '../../kernel/model-call.ts'
import type { GivenResult, ModelAnswer } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'

type Answers = readonly [ModelAnswer, ...ModelAnswer[]]
type GivenAnswer = Extract<ModelFunctionMessage, { role: 'assistant' }>
type OpenAnswer = ModelAnswer & { readonly results: Map<string, GivenResult> }

/** Reads what a model function returned: one answer per assistant message, with the results that follow it. */
export function readAnswers(turn: Turn, returned: unknown): Answers {
  const given = frozenCopy(returned)
  const objection = 'objection' in given ? given.objection : Array.isArray(given.value) ? undefined : 'it is not a list of messages'
  if (objection !== undefined || !('value' in given)) return [invalidAnswer(turn, objection ?? '')]
  const answers: OpenAnswer[] = []
  for (const [place, message] of (given.value as readonly unknown[]).entries()) {
    const wrong = take(turn, answers, message)
    if (wrong !== undefined) return [invalidAnswer(turn, `message ${place} ${wrong}`)]
  }
  const [first, ...others] = answers
  return first ? [first, ...others] : [invalidAnswer(turn, 'it has no assistant message')]
}

/** Reads the last message of the stream that a model function returned. */
export function readAnswer(turn: Turn, given: unknown): ModelAnswer {
  const copy = frozenCopy(given)
  if ('objection' in copy) return invalidAnswer(turn, copy.objection)
  const answers: OpenAnswer[] = []
  const wrong = take(turn, answers, copy.value)
  const [answer] = answers
  return answer ?? invalidAnswer(turn, `the message ${wrong ?? 'is not a message'}`)
}

function frozenCopy(given: unknown): { readonly value: unknown } | { readonly objection: string } {
  try {
    return { value: frozenJson(given) }
  } catch (error) {
    return { objection: messageOf(error) }
  }
}

/** Adds a message to the answers, or returns what is wrong with it. */
function take(turn: Turn, answers: OpenAnswer[], given: unknown): string | undefined {
  const role = isRecord(given) ? given['role'] : undefined
  if (role === 'assistant') {
    const wrong = wrongAnswer(given as Fields)
    if (wrong === undefined) answers.push({ message: answerMessage(turn, given as GivenAnswer), results: new Map() })
    return wrong
  }
  return role === 'tool-result' ? takeResult(answers.at(-1), given as Fields) : 'is neither an answer nor a tool result'
}

type Fields = Readonly<Record<string, unknown>>

function wrongAnswer(given: Fields): string | undefined {
  const { content, stopReason } = given
  if (stopReason !== undefined && !isStopReason(stopReason)) return 'has an unknown stopReason'
  const wrong = wrongField(given)
  if (wrong !== undefined) return wrong
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content) || !content.every(isAssistantPart)) return 'has content that is neither text nor parts'
  const ids = content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : []))
  if (ids.includes('')) return 'has a call without an id'
  return new Set(ids).size < ids.length ? 'has two calls with the same id' : undefined
}

function takeResult(answer: OpenAnswer | undefined, given: Fields): string | undefined {
  const { toolCallId, output, status } = given
  const calls = answer ? clientCalls(answer.message) : []
  if (typeof toolCallId !== 'string' || !calls.some((call) => call.toolCallId === toolCallId)) return 'is a result without a call before it'
  if (answer?.results.has(toolCallId)) return `is a second result of ${toolCallId}`
  // None of its calls can have run, so a result of one cannot be stored.
  if (answer && neverRan(answer.message)) return 'is a result of an answer that failed, was stopped or was cut'
  if (!isToolOutput(output)) return 'has no output'
  if (status !== undefined && !isOutcomeStatus(status)) return 'has an unknown status'
  answer?.results.set(toolCallId, given as GivenResult)
  return undefined
}

function answerMessage(turn: Turn, given: GivenAnswer): AssistantMessage {
  const content = typeof given.content === 'string' ? [{ type: 'text' as const, text: given.content }] : given.content
  const asksForTools = content.some((part) => part.type === 'tool-call' && !part.providerExecuted)
  const { name, clock } = { name: turn.model.name, clock: turn.clock }
  return {
    ...name,
    stopReason: asksForTools ? 'tool-calls' : 'stop',
    usage: {},
    at: clock.now(),
    timing: { totalMs: 0 },
    ...given,
    ...(given.stopReason === 'error' && { error: classifyError(given.error ?? new Error('the model function failed'), name) }),
    // The log has named the message already.
    id: turn.messageId,
    content,
  }
}

/** Returns a failed answer for a mistake of the function: retrying would not help. */
export function invalidAnswer(turn: Turn, objection: string): ModelAnswer {
  const error: ModelError = {
    kind: 'malformed-response',
    retryable: false,
    phase: 'before-output',
    ...turn.model.name,
    message: `the model function returned an invalid answer: ${objection}`,
  }
  return failedAnswer(turn, error)
}

const texts = ['provider', 'modelId', 'rawStopReason', 'abortReason'] as const
const amounts = ['total', 'input', 'cacheRead', 'cacheWrite', 'output'] as const
const decimal = /^\d+(\.\d+)?$/

/**
 * Returns what is wrong with the fields of a given answer, apart from its content. Sums, budgets and later requests rely on them.
 */
export function wrongField(given: Readonly<Record<string, unknown>>): string | undefined {
  const { usage, cost, paused, at, timing } = given
  if (usage !== undefined && !isUsage(usage)) return 'has an invalid usage'
  if (cost !== undefined && !isCost(cost)) return 'has an invalid cost'
  if (paused !== undefined && paused !== true) return 'has a paused other than true'
  if (at !== undefined && typeof at !== 'number') return 'has an at that is not a number'
  if (timing !== undefined && !isRecord(timing)) return 'has an invalid timing'
  const wrong = texts.find((name) => given[name] !== undefined && typeof given[name] !== 'string')
  return wrong === undefined ? undefined : `has a ${wrong} that is not a text`
}

/** Checks only the counts, which are whole numbers: other facts from a provider are kept beside them. */
function isUsage(usage: unknown): boolean {
  return (
    isRecord(usage) &&
    Object.entries(usage).every(([name, count]) => !name.endsWith('Tokens') || (Number.isSafeInteger(count) && Number(count) >= 0))
  )
}

function isCost(cost: unknown): boolean {
  if (!isRecord(cost) || typeof cost['currency'] !== 'string') return false
  return amounts.every((name) => typeof cost[name] === 'string' && decimal.test(cost[name]))
}
