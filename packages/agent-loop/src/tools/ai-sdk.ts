import { toPrompt } from '@bowline/llm'
import type { FileData, JSONValue, LanguageModelV4ProviderTool, Message } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { checkFunction, refuseConfig } from '../base/checks.ts'
import { isRecord, writtenJson } from '../base/json.ts'
import { isThenable } from '../base/promises.ts'
import type { Tool, ToolContext, ToolFields } from '../contract/agent.ts'
import type { AiSdkTool, InputSchema, ToolChunk, ToolReturnValue } from '../contract/tool.ts'
import { isGenerator } from './output.ts'
import { buildTool } from './tool.ts'
import type { ProviderTool } from './tool.ts'

/**
 * Makes a tool from an AI SDK tool. Its effect is `once` unless `given` sets another, since the AI SDK says nothing about running
 * twice.
 */
export function fromAiSdk(name: string, sdkTool: AiSdkTool, given: Partial<ToolFields> = {}): Tool | ProviderTool {
  checkFunction(`the tool ${name}: execute`, sdkTool.execute)
  checkFunction(`the tool ${name}: toModelOutput`, sdkTool.toModelOutput)
  switch (sdkTool.type) {
    case undefined:
    case 'function':
    case 'dynamic':
      return buildTool({ ...fieldsOf(name, sdkTool), ...given, name })
    case 'provider': {
      const declaration = providerDeclaration(name, sdkTool)
      if (sdkTool.isProviderExecuted) return Object.freeze({ kind: 'provider', name, declaration })
      return buildTool({ ...fieldsOf(name, sdkTool), ...given, name, declaration })
    }
    default:
      return refuseConfig(`the tool ${name} is of the unknown type ${String(sdkTool.type satisfies never)}`)
  }
}

function providerDeclaration(name: string, { id, args = {} }: AiSdkTool): LanguageModelV4ProviderTool {
  if (typeof id !== 'string' || !isProviderId(id)) return refuseConfig(`the tool ${name} of a provider needs an id like provider.tool`)
  return Object.freeze({ type: 'provider', id, name, args: { ...args } })
}

function isProviderId(id: string): id is `${string}.${string}` {
  return id.includes('.')
}

function fieldsOf(name: string, sdkTool: AiSdkTool): Partial<ToolFields> {
  const { title, inputSchema, strict, inputExamples, providerOptions } = sdkTool
  const fields = {
    description: descriptionOf(name, sdkTool.description),
    inputSchema: inputSchema as InputSchema,
    label: title,
    strict,
    inputExamples,
    providerOptions,
    needsApproval: approvalOf(sdkTool),
    execute: sdkTool.execute && ((input: JSONValue, context: ToolContext) => executeSdkTool(sdkTool, input, context)),
    toModelOutput: sdkTool.toModelOutput && modelOutputOf(sdkTool),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function descriptionOf(name: string, description: unknown): string {
  if (typeof description === 'string') return description
  if (typeof description !== 'function') return ''
  try {
    return String((description as (options: object) => unknown)({ context: undefined }))
  } catch (error) {
    return refuseConfig(`the description of ${name} must not need a context; use a text (${messageOf(error)})`)
  }
}

function approvalOf(sdkTool: AiSdkTool): ToolFields['needsApproval'] | undefined {
  if (typeof sdkTool.needsApproval !== 'function') return sdkTool.needsApproval
  const { needsApproval } = sdkTool as unknown as { needsApproval: (input: JSONValue, options: object) => unknown }
  return async (input, context) => Boolean(await needsApproval.call(sdkTool, input, sdkOptions(context)))
}

function modelOutputOf(sdkTool: AiSdkTool): NonNullable<ToolFields['toModelOutput']> {
  const { toModelOutput } = sdkTool as unknown as { toModelOutput: (options: object) => unknown }
  return (value: ToolReturnValue, call) => {
    const made = toModelOutput.call(sdkTool, { ...call, output: value.output })
    return isThenable(made) ? Promise.resolve(made).then(fromSdkOutput) : fromSdkOutput(made)
  }
}

type Execute = (input: JSONValue, options: object) => unknown

function executeSdkTool(sdkTool: AiSdkTool, input: JSONValue, context: ToolContext): unknown {
  const returned = (sdkTool as unknown as { execute: Execute }).execute(input, sdkOptions(context))
  const asReturn = sdkTool.toModelOutput ? asReturned : asWritten
  return isGenerator(returned) ? chunksOf(returned, asReturn) : Promise.resolve(returned).then(asReturn)
}

/** Returns the options that a tool of the AI SDK gets for its call. */
function sdkOptions(context: ToolContext): object {
  const { toolCallId, abortSignal } = context
  return {
    toolCallId,
    abortSignal,
    context: context.context,
    /** A getter, because few tools read the messages, and making them takes a walk over the transcript. */
    get messages() {
      return modelMessagesOf(context.messages, toolCallId)
    },
  }
}

/** Returns the messages before the answer that contains the call, in the form of the AI SDK. */
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

/** Leaves out failed answers and the results of their calls: the model was not shown them. */
function withoutFailed(messages: readonly Message[]): readonly Message[] {
  let failed = false
  return messages.filter((message) => {
    if (message.role !== 'tool-result') failed = message.role === 'assistant' && message.stopReason === 'error'
    return !failed
  })
}

/** Converts snapshots of the output to chunks: if the text has grown, its suffix is a delta. The last value is the output. */
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

/** Accepts any value: the tool's own `toModelOutput` converts it to JSON. */
function asReturned(output: unknown): ToolReturnValue {
  return { output: (output ?? null) as JSONValue }
}

/**
 * Converts a value as the AI SDK does, by JSON: a date becomes a text, and a live object its fields. Undefined counts as `'done'`.
 */
function asWritten(output: unknown): ToolReturnValue {
  return { output: (output === undefined ? undefined : writtenJson(output)) as JSONValue }
}

/**
 * Converts the result of an AI SDK `toModelOutput` to the content of this package. Throws for content that this package cannot
 * hold.
 */
function fromSdkOutput(given: unknown): unknown {
  if (!isRecord(given) || given['type'] !== 'content' || !Array.isArray(given['value'])) return given
  return { type: 'content', value: given['value'].map(itemOf) }
}

/** Converts an item. The whole output is checked again when it is stored. */
function itemOf(item: unknown): unknown {
  if (!isRecord(item)) throw notHeld('an item that is not an object')
  const { filename, providerOptions } = item
  const rest = { ...(filename !== undefined && { filename }), ...(providerOptions !== undefined && { providerOptions }) }
  const fileOf = (data: FileData, otherwise: string): object => {
    return { type: 'file', mediaType: typeof item['mediaType'] === 'string' ? item['mediaType'] : otherwise, data, ...rest }
  }
  switch (item['type']) {
    case 'text':
      return item
    case 'file':
      return fileOf(dataOf(item['data']), 'application/octet-stream')
    case 'file-data':
      return fileOf({ type: 'data', data: base64Of(item['data']) }, 'application/octet-stream')
    case 'image-data':
      return fileOf({ type: 'data', data: base64Of(item['data']) }, 'image/*')
    case 'file-url':
      return fileOf({ type: 'url', url: String(item['url']) }, 'application/octet-stream')
    case 'image-url':
      return fileOf({ type: 'url', url: String(item['url']) }, 'image/*')
    default:
      throw notHeld(`content of type ${String(item['type'])}`)
  }
}

function dataOf(given: unknown): FileData {
  const { type, data, url, text } = isRecord(given) ? given : {}
  switch (type) {
    case 'data':
      return { type, data: base64Of(data) }
    case 'url':
      return { type, url: String(url) }
    case 'text':
      return { type: 'data', data: base64Of(new TextEncoder().encode(String(text))) }
    default:
      throw notHeld(`a file whose data is of type ${String(type)}`)
  }
}

function base64Of(given: unknown): string {
  if (typeof given === 'string') return given
  const bytes = given instanceof ArrayBuffer ? new Uint8Array(given) : given
  if (!(bytes instanceof Uint8Array)) throw notHeld('a file without data')
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

function notHeld(what: string): TypeError {
  return new TypeError(`toModelOutput returned ${what}`)
}
