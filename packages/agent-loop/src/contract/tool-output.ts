import type { FlexibleSchema, JSONValue } from '@bowline/llm'
import type { AiSdkTool, ToolContent, ToolReturnValue } from './tool.ts'

/** The validated arguments of an AI SDK tool. */
export type SdkInput<From extends AiSdkTool> = From['inputSchema'] extends FlexibleSchema<infer Input> ? Input : JSONValue

/**
 * The output of an AI SDK tool: the return type of `execute`, or else the type of `outputSchema`. Its `toModelOutput` is ignored.
 */
export type SdkOutput<From extends AiSdkTool> = From extends { readonly execute: (input: never, options: never) => infer Returned }
  ? SdkReturned<Returned>
  : From extends { readonly outputSchema: FlexibleSchema<infer Output> }
    ? Output
    : unknown

type SdkReturned<Returned> = Returned extends AsyncIterable<infer Output> | PromiseLike<infer Output> ? Output : Returned

/**
 * The output that the model sees and that a result holds. `Execute` and `ToModelOutput` are the types of these functions; unknown
 * for a tool without both.
 */
export type OutputOfTool<Execute, ToModelOutput> = ToModelOutput extends (value: never) => infer Shown
  ? ShownOutput<Shown>
  : Execute extends (input: never, context: never) => infer Returned
    ? ReturnedOutput<Returned>
    : unknown

type ShownOutput<Shown> = Shown extends { readonly type: 'text' | 'json' | 'content'; readonly value: infer Value } ? Value : never

type ReturnedOutput<Returned> =
  Returned extends AsyncGenerator<infer Chunk, infer Last>
    ? OutputOf<Exclude<Last, void>> | CompleteOutput<Chunk> | (void extends Last ? string : never)
    : Returned extends PromiseLike<infer Later>
      ? OutputOf<Later>
      : OutputOf<Returned>

type CompleteOutput<Chunk> = Chunk extends { readonly type: 'complete'; readonly output: infer Output } ? Output : never

/** Applies the rules of `ToolReturn` to each value that may be returned. */
type OutputOf<Value> = Value extends void
  ? 'done'
  : Value extends ToolContent
    ? Value['value']
    : Value extends { readonly output?: infer Output }
      ? IsReturnValue<GivenKeys<Value>> extends true
        ? OutputOf<Output>
        : Value
      : Value

type IsReturnValue<Keys> = 'output' extends Keys ? ([Exclude<Keys, keyof ToolReturnValue>] extends [never] ? true : false) : false

/** Leaves out keys that never exist: the compiler adds them when it joins object types. */
type GivenKeys<Value> = { [Key in keyof Value]-?: [Exclude<Value[Key], undefined>] extends [never] ? never : Key }[keyof Value]
