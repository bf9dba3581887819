import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import type { JSONValue } from '../messages.ts'

/** One answer of a scripted model. Plain fields make a legal stream; `parts` says it part by part. */
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

export interface ScriptedToolCall {
  /** Default: `call-<call>-<place>`, both from 1. */
  readonly id?: string
  readonly name: string
  /** `{ raw }` is argument text as it is, valid or not. */
  readonly input: JSONValue | { readonly raw: string }
  readonly chunk?: number
}

/** Something that happens between two parts. */
export type Action =
  | { readonly sleep: number }
  | { readonly wait: Promise<unknown> }
  | { readonly throw: unknown }
  | { readonly hang: true }
  | { readonly close: true }
