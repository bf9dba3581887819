import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import { isRecord } from '../arguments.ts'
import type { Action, ScriptedToolCall, Step } from './step.ts'

export type ScriptItem = LanguageModelV4StreamPart | Action

const actions = ['sleep', 'wait', 'throw', 'hang', 'close']

/** Everything that is not an action is a part, so that a script can also send invalid parts. */
export function isPart(item: ScriptItem): item is LanguageModelV4StreamPart {
  return !isRecord(item) || 'type' in item || !actions.some((action) => action in item)
}

/** Returns the whole stream of a step, in valid order. `index` is the number of the call, from 0. */
export function scriptOf(step: Step, index: number, modelId: string): ScriptItem[] {
  const content = [
    ...blockParts('reasoning', step.reasoning, step),
    ...blockParts('text', step.text, step),
    ...(step.toolCalls ?? []).flatMap((call, place) => toolCallParts(call, `call-${index + 1}-${place + 1}`, step)),
    ...(step.parts ?? []),
  ]
  const says = (type: LanguageModelV4StreamPart['type']): boolean =>
    content.some((item) => isRecord(item) && 'type' in item && item.type === type)
  return [
    ...(step.delayMs === undefined ? [] : [{ sleep: step.delayMs }]),
    ...(says('stream-start') ? [] : [{ type: 'stream-start' as const, warnings: [] }]),
    ...(says('response-metadata') ? [] : [{ type: 'response-metadata' as const, id: `response-${index + 1}`, modelId }]),
    ...disturbed(content, step),
    ...(step.finish === false || says('finish') ? [] : [finishPart(step)]),
    ...(step.hang === 'end' ? [{ hang: true as const }] : []),
  ]
}

function disturbed(content: readonly ScriptItem[], { failAfter, hang }: Step): ScriptItem[] {
  if (failAfter) {
    const failure = failAfter.as === 'throw' ? { throw: failAfter.error } : { type: 'error' as const, error: failAfter.error }
    return [...firstParts(content, failAfter.parts), failure]
  }
  if (hang === 'middle') return [...firstParts(content, Math.ceil(content.filter(isPart).length / 2)), { hang: true }]
  return [...content]
}

/** Returns the first `count` parts, and the actions before them. */
function firstParts(content: readonly ScriptItem[], count: number): readonly ScriptItem[] {
  const ends = content.flatMap((item, place) => (isPart(item) ? [place + 1] : []))
  return content.slice(0, count > 0 ? ends[count - 1] : 0)
}

function blockParts(kind: 'text' | 'reasoning', text: string | undefined, step: Step): ScriptItem[] {
  if (text === undefined) return []
  const id = `${kind}-1`
  const deltas = chunksOf(text, step.chunk).flatMap((delta): ScriptItem[] => [...pause(step), { type: `${kind}-delta`, id, delta }])
  return [{ type: `${kind}-start`, id }, ...deltas, { type: `${kind}-end`, id }]
}

function toolCallParts(call: ScriptedToolCall, defaultId: string, step: Step): ScriptItem[] {
  const { id = defaultId, name: toolName } = call
  const input = isRawInput(call.input) ? call.input.raw : JSON.stringify(call.input)
  const deltas = chunksOf(input, call.chunk ?? step.chunk).flatMap((delta): ScriptItem[] => [
    ...pause(step),
    { type: 'tool-input-delta', id, delta },
  ])
  return [
    { type: 'tool-input-start', id, toolName },
    ...deltas,
    { type: 'tool-input-end', id },
    { type: 'tool-call', toolCallId: id, toolName, input },
  ]
}

function isRawInput(input: ScriptedToolCall['input']): input is { readonly raw: string } {
  return isRecord(input) && typeof input['raw'] === 'string' && Object.keys(input).length === 1
}

function pause({ deltaDelayMs }: Step): Action[] {
  return deltaDelayMs === undefined ? [] : [{ sleep: deltaDelayMs }]
}

function chunksOf(text: string, size = text.length): string[] {
  const count = size > 0 ? Math.ceil(text.length / size) : 0
  return Array.from({ length: count }, (_, place) => text.slice(place * size, (place + 1) * size))
}

function finishPart({ finish, toolCalls, usage }: Step): LanguageModelV4StreamPart {
  const unified = toolCalls && toolCalls.length > 0 ? 'tool-calls' : 'stop'
  const finishReason: LanguageModelV4FinishReason =
    typeof finish === 'object' ? finish : { unified: finish || unified, raw: finish || unified }
  return { type: 'finish', finishReason, usage: usageOf(usage) }
}

function usageOf({ input = 10, output = 5, cacheRead, cacheWrite, reasoning }: NonNullable<Step['usage']> = {}): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead, cacheWrite },
    outputTokens: { total: output, text: reasoning === undefined ? undefined : output - reasoning, reasoning },
  }
}
