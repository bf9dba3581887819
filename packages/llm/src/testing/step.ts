import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { isRecord, needed } from '../arguments.ts'
import { check, checkItems, checkValues, fieldsOf, optionalFieldsOf } from '../check.ts'
import type { JSONValue } from '../messages.ts'

/** One answer of a scripted model. The plain fields make a legal stream; `parts` gives it part by part. */
export interface Step {
  readonly reasoning?: string
  readonly text?: string
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** Behind the parts of the fields above; a `finish` in here replaces the step's own. */
  readonly parts?: readonly (LanguageModelV4StreamPart | Action)[]
  /** Characters per delta. Default: the whole text at once. */
  readonly chunk?: number
  /** Before the first part. */
  readonly delayMs?: number
  /** Before each delta. */
  readonly deltaDelayMs?: number
  /** Default: 10 in, 5 out. */
  readonly usage?: Partial<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning', number>>
  /** Default: `tool-calls` with calls, else `stop`. `false`: the stream closes without a finish. */
  readonly finish?: LanguageModelV4FinishReason | LanguageModelV4FinishReason['unified'] | false
  /** Looks at the call; what it throws rejects `doStream`. */
  readonly expect?: (call: LanguageModelV4CallOptions) => void
  /** `doStream` rejects with this. */
  readonly error?: unknown
  /** Breaks the stream behind that many content parts. */
  readonly failAfter?: { readonly parts: number; readonly error: unknown; readonly as: 'part' | 'throw' }
  /** Stands still: `doStream` never resolves, no part comes behind half of the content, or the stream stays open. */
  readonly hang?: 'before' | 'middle' | 'end'
  /** Goes on as if nobody had asked it to stop. */
  readonly ignoreAbort?: boolean
}

/** A tool call of a scripted answer. `chunk` is the number of characters per delta. Default: all arguments in one delta. */
export interface ScriptedToolCall {
  /** Default: `call-<call>-<place>`, both from 1. */
  readonly id?: string
  readonly name: string
  /** `{ raw }` is argument text as it is, valid or not. */
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
  ...{ reasoning: true, text: true, toolCalls: true, parts: true, chunk: true, delayMs: true, deltaDelayMs: true, usage: true },
  ...{ finish: true, expect: true, error: true, failAfter: true, hang: true, ignoreAbort: true },
} satisfies Record<keyof Step, true>)

const unifiedReasons = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other']

/** Throws `LlmError` for a step that a typing mistake would make another one. Parts are sent as they are. */
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
