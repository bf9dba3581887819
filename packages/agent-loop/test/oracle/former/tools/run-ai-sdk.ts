import { toPrompt } from '@bowline/llm'
import type { JSONValue, Message } from '@bowline/llm'
import { writtenJson } from '../base/json.ts'
import type { ToolContext } from '../contract/agent.ts'
import type { AiSdkTool, ToolChunk, ToolReturnValue } from '../contract/tool.ts'
import { isGenerator } from './generator.ts'

type Execute = (input: JSONValue, options: object) => unknown

export function executeSdkTool(sdkTool: AiSdkTool, input: JSONValue, context: ToolContext): unknown {
  const returned = (sdkTool as unknown as { execute: Execute }).execute(input, sdkOptions(context))
  const asReturn = sdkTool.toModelOutput ? asReturned : asWritten
  return isGenerator(returned) ? chunksOf(returned, asReturn) : Promise.resolve(returned).then(asReturn)
}

/** What a tool of the AI SDK is told about its call. */
export function sdkOptions(context: ToolContext): object {
  const { toolCallId, abortSignal } = context
  return {
    ...{ toolCallId, abortSignal, context: context.context },
    /** Few tools look at them, and making them takes a walk over the transcript. */
    get messages() {
      return modelMessagesOf(context.messages, toolCallId)
    },
  }
}

/** The messages above the answer that asked for the call, as the AI SDK writes them. */
function modelMessagesOf(messages: readonly Message[], toolCallId: string): readonly object[] {
  const place = messages.findLastIndex((message) => message.role === 'assistant' && asksFor(message.content, toolCallId))
  const answer = messages[place]
  if (answer?.role !== 'assistant') return []
  const { provider, modelId } = answer
  return toPrompt({ messages: withoutFailed(messages.slice(0, place)), model: { provider, modelId } }).prompt
}

function asksFor(content: readonly { readonly type: string }[], toolCallId: string): boolean {
  return content.some((part) => part.type === 'tool-call' && 'toolCallId' in part && part.toolCallId === toolCallId)
}

/** The model was not shown its failed answers, nor what became of their calls. */
function withoutFailed(messages: readonly Message[]): readonly Message[] {
  let failed = false
  return messages.filter((message) => {
    if (message.role !== 'tool-result') failed = message.role === 'assistant' && message.stopReason === 'error'
    return !failed
  })
}

/** Each value is a snapshot of the output: grown text goes on as its suffix, the last value is the output. */
async function* chunksOf(
  snapshots: AsyncIterable<unknown>,
  asReturn: (output: unknown) => ToolReturnValue,
): AsyncGenerator<ToolChunk, ToolReturnValue> {
  let shown = ''
  let isText = true
  let last = asReturn(undefined)
  for await (const snapshot of snapshots) {
    last = asReturn(snapshot)
    const { output = null } = last
    const text = typeof output === 'string' ? output : JSON.stringify(output)
    const grows = isText && typeof output === 'string' && text.startsWith(shown)
    if (!grows) yield { type: 'delta', delta: text, replace: true }
    else if (text.length > shown.length) yield text.slice(shown.length)
    shown = text
    isText = typeof output === 'string'
  }
  return last
}

/** Whatever it is: the tool's own `toModelOutput` makes JSON of it. */
function asReturned(output: unknown): ToolReturnValue {
  return { output: (output ?? null) as JSONValue }
}

/** The AI SDK sends what JSON writes: a date is a text, and a live object its fields. Nothing counts as done here. */
function asWritten(output: unknown): ToolReturnValue {
  return { output: (output === undefined ? undefined : writtenJson(output)) as JSONValue }
}
