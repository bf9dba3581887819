import type { LanguageModelV4CallOptions, LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { isRecord, needed } from '../arguments.ts'
import { check, checkItems, checkValues, fieldsOf, optionalFieldsOf } from '../check.ts'
import type { JSONValue } from '../messages.ts'

/** One answer of a scripted model. The plain fields make a valid stream; `parts` specifies it part by part. */
export interface Step {
  readonly reasoning?: string
  readonly text?: string
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** Parts after those of the fields above. A `finish` here replaces the step's own. */
  readonly parts?: readonly (LanguageModelV4StreamPart | Action)[]
  /** Characters per delta. Default: the whole text in one delta. */
  readonly chunk?: number
  /** Delay before the first part. */
  readonly delayMs?: number
  /** Delay before each delta. */
  readonly deltaDelayMs?: number
  /** Default: 10 input and 5 output tokens. */
  readonly usage?: Partial<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning', number>>
  /** Default: `tool-calls` if there are calls, else `stop`. With `false`, the stream closes without a finish. */
  readonly finish?: LanguageModelV4FinishReason | LanguageModelV4FinishReason['unified'] | false
  /** Inspects the call. If it throws, `doStream` rejects with that error. */
  readonly expect?: (call: LanguageModelV4CallOptions) => void
  /** Error with which `doStream` rejects. */
  readonly error?: unknown
  /** Breaks the stream after this many content parts. */
  readonly failAfter?: { readonly parts: number; readonly error: unknown; readonly as: 'part' | 'throw' }
  /** Hangs: `doStream` never resolves (`before`), the stream stops after half of the content (`middle`), or it never closes (`end`). */
  readonly hang?: 'before' | 'middle' | 'end'
  /** Continues after an abort. */
  readonly ignoreAbort?: boolean
}

/** A tool call of a scripted answer. `chunk` is the number of characters per delta. Default: all arguments in one delta. */
export interface ScriptedToolCall {
  /** Default: `call-<call>-<place>`, both from 1. */
  readonly id?: string
  readonly name: string
  /** `{ raw }` is sent unchanged as argument text, valid or not. */
  readonly input: JSONValue | { readonly raw: string }
  readonly chunk?: number
}

/** A step between two parts of a scripted answer: a wait, an error, a hang, or the end of the stream. `sleep` is ms. */
export type Action =
  | { readonly sleep: number }
  | { readonly wait: Promise<unknown> }
  | { readonly throw: unknown }
  | { readonly hang: true }
  | { readonly close: true }

const stepKeys = Object.keys({
  reasoning: true,
  text: true,
  toolCalls: true,
  parts: true,
  chunk: true,
  delayMs: true,
  deltaDelayMs: true,
  usage: true,
  finish: true,
  expect: true,
  error: true,
  failAfter: true,
  hang: true,
  ignoreAbort: true,
} satisfies Record<keyof Step, true>)

const unifiedReasons = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']

/** Throws `LlmError` for a step with wrong fields, such as a misspelled one. Parts are not checked. */
export function checkedStep(path: string, given: unknown): Step | undefined {
  if (given === undefined) return undefined
  const step = fieldsOf(path, given, stepKeys)
  for (const name of ['reasoning', 'text'] as const) check.checkText(`${path}.${name}`, step[name])
  checkItems(`${path}.toolCalls`, step['toolCalls'], checkToolCall)
  check.checkList(`${path}.parts`, step['parts'])
  check.checkWhole(`${path}.chunk`, step['chunk'], 1)
  for (const name of ['delayMs', 'deltaDelayMs'] as const) check.checkNumber(`${path}.${name}`, step[name], 0)
  optionalFieldsOf(`${path}.usage`, step['usage'], ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'])
  checkValues(`${path}.usage`, step['usage'], (place, tokens) => check.checkNumber(place, tokens, 0))
  checkFinish(`${path}.finish`, step['finish'])
  check.checkFunction(`${path}.expect`, step['expect'])
  checkFailure(`${path}.failAfter`, step['failAfter'])
  check.checkOneOf(`${path}.hang`, step['hang'], ['before', 'middle', 'end'])
  check.checkBoolean(`${path}.ignoreAbort`, step['ignoreAbort'])
  return step
}

function checkToolCall(path: string, given: unknown): void {
  const { id, name, chunk } = fieldsOf(path, given, ['id', 'name', 'input', 'chunk'])
  check.checkText(`${path}.id`, id)
  check.checkRequired(`${path}.name`, name, 'a text', (text) => typeof text === 'string')
  check.checkWhole(`${path}.chunk`, chunk, 1)
}

function checkFinish(path: string, finish: unknown): void {
  if (!isRecord(finish)) return check.checkOneOf(path, finish, [...unifiedReasons, false])
  const { unified, raw } = fieldsOf(path, finish, ['unified', 'raw'])
  check.checkText(`${path}.unified`, needed(unified))
  check.checkText(`${path}.raw`, raw)
}

function checkFailure(path: string, failure: unknown): void {
  const { parts, as } = optionalFieldsOf(path, failure, ['parts', 'error', 'as'])
  if (failure === undefined) return
  check.checkWhole(`${path}.parts`, needed(parts), 0)
  check.checkOneOf(`${path}.as`, needed(as), ['part', 'throw'])
}
