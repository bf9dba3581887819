import type { JSONValue } from '@bowline/llm'
import { refuseConfig } from '../agent/check-options.ts'
import { toolOf } from './define-tool.ts'
import type { InputSchema, Tool, ToolChunk, ToolContext, ToolReturnValue } from './tool.ts'

/** A tool made by `tool()` or `dynamicTool()` of the AI SDK. Tools of type `provider` are refused. */
export interface AiSdkTool {
  readonly type?: 'function' | 'dynamic' | 'provider' | undefined
  readonly description?: unknown
  readonly inputSchema: unknown
  readonly execute?: ((input: never, options: never) => unknown) | undefined
  readonly toModelOutput?: ((options: never) => unknown) | undefined
}

type Execute = (input: JSONValue, options: object) => unknown
type ToModelOutput = (options: object) => unknown

/** Its effect is `once`, since the AI SDK says nothing about running twice. */
export function fromAiSdk(name: string, sdkTool: AiSdkTool): Tool {
  const { type, description, inputSchema } = sdkTool
  if (type !== undefined && type !== 'function' && type !== 'dynamic') {
    refuseConfig(`the tool ${name} is of type ${type}; function tools are supported`)
  }
  const execute = sdkTool.execute as Execute | undefined
  const toModelOutput = sdkTool.toModelOutput as ToModelOutput | undefined
  return toolOf({
    name,
    description: typeof description === 'string' ? description : '',
    inputSchema: inputSchema as InputSchema,
    ...(execute && { execute: (input: JSONValue, context: ToolContext) => run(execute, input, context) }),
    ...(toModelOutput && {
      toModelOutput: (value: ToolReturnValue, call: object) => toModelOutput({ ...call, output: value.output }),
    }),
  })
}

function run(execute: Execute, input: JSONValue, context: ToolContext): unknown {
  const { toolCallId, messages, abortSignal } = context
  const returned = execute(input, { toolCallId, messages, abortSignal, context: context.context })
  return isAsyncIterable(returned) ? chunksOf(returned) : Promise.resolve(returned).then(asReturn)
}

/** Each value is a snapshot of the output: grown text goes on as its suffix, the last value is the output. */
async function* chunksOf(snapshots: AsyncIterable<unknown>): AsyncGenerator<ToolChunk, ToolReturnValue> {
  let text = ''
  let last: unknown
  for await (const snapshot of snapshots) {
    last = snapshot
    const next = typeof snapshot === 'string' ? snapshot : JSON.stringify(snapshot ?? null)
    if (!next.startsWith(text)) yield { type: 'delta', delta: next, replace: true }
    else if (next.length > text.length) yield next.slice(text.length)
    text = next
  }
  return asReturn(last)
}

function asReturn(output: unknown): ToolReturnValue {
  return { output: (output ?? null) as JSONValue }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
