import type { ModelMessage } from 'ai'
import { isRecord, needed } from '../arguments.ts'
import { check, checkInput } from '../check.ts'
import { toBase64, toJsonValue } from '../json.ts'
import { newMessageId } from '../message-id.ts'
import type { AssistantPart, ContentPart, FileData, FilePart, JSONValue, Message, ProviderMetadata, TextPart, ToolOutput } from '../messages.ts'
import { UniqueIds } from '../unique-ids.ts'
import { missingResult } from './tool-output.ts'

/** Origin and time of converted messages. */
export interface FromModelMessagesOptions {
  /**
   * Provider that wrote the answers, as in `AssistantMessage.provider`. Data of a provider, like signed reasoning, is sent only to
   * the same provider and model. Default `unknown`: it is sent to none.
   */
  readonly provider?: string
  /** Model that wrote the answers, as in `AssistantMessage.modelId`. Default `unknown`. */
  readonly modelId?: string
  /** Time of all messages, in ms since 1970. Default: now. */
  readonly at?: number
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Converts messages of the AI SDK to a transcript, for example for the `history` of a new session. Results follow their call in the
 * order of the calls. A call without a result gets an error result, and a call that a person has refused the output
 * `execution-denied`. If a model used the id of a call again, the later call gets `~2` at the end of its id. System messages are left out, because the system prompt is no message of a transcript, and so are results
 * without a call and the provider options of answers and results as a whole, which mark what is to be cached. A file of which there
 * is only an id at its provider becomes a text that says so. Throws `invalid-input` for a message or part of an unknown kind.
 */
export function fromModelMessages(messages: readonly ModelMessage[], options: FromModelMessagesOptions = {}): readonly Message[] {
  checkInput.checkRequired('messages', messages, 'a list of messages', Array.isArray)
  check.checkFields<FromModelMessagesOptions>('fromModelMessages.options', options, { provider: check.optionalName, modelId: check.optionalName, at: check.whole(0) })
  const { provider = 'unknown', modelId = 'unknown', at = Date.now() } = options
  const given = messages.map((message, place) => fieldsAt(`messages[${place}]`, message, 'a message'))
  for (const [place, { role }] of given.entries()) checkInput.checkOneOf(`messages[${place}].role`, needed(role), ['system', 'user', 'assistant', 'tool'])
  const calls = new Calls()
  const converted = given.flatMap(({ role, content, providerOptions }, place): readonly (Message | OpenCall)[] => {
    const path = `messages[${place}].content`
    if (role === 'user') return [{ role, content: typeof content === 'string' ? content : partsAt(path, content).map(userPart), at, ...optionsOf(`messages[${place}]`, providerOptions, 'providerOptions') }]
    if (role === 'tool') for (const part of partsAt(path, content)) readAnswer(part, calls)
    if (role !== 'assistant') return []
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : partsAt(path, content).flatMap((part) => answerPart(part, calls))
    const open = parts.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? calls.opened(part.toolCallId) : []))
    const stopReason = open.length > 0 ? 'tool-calls' : 'stop'
    return [{ role, id: newMessageId(), content: parts, provider, modelId, stopReason, usage: {}, at, timing: { totalMs: 0 } }, ...open]
  })
  return converted.map((entry) => {
    if ('role' in entry) return entry
    const { toolCallId, toolName, output, refusal } = entry
    return { role: 'tool-result', toolCallId, toolName, output: output ?? refusal ?? missingResult, at }
  })
}

interface OpenCall {
  /** Unique in the transcript. */
  readonly toolCallId: string
  readonly toolName: string
  output?: ToolOutput
  /** Present if a person has refused the call. */
  refusal?: ToolOutput
}

/** Calls of the answers so far. Some models use an id again in a later answer, so a given id means its last call. */
class Calls {
  readonly #ids = new UniqueIds()
  readonly #byId = new Map<string, OpenCall>()
  readonly #last = new Map<string, OpenCall>()
  readonly #asked = new Map<unknown, OpenCall | undefined>()

  add(givenId: string, toolName: string): OpenCall {
    const call: OpenCall = { toolCallId: this.#ids.take(givenId), toolName }
    this.#byId.set(call.toolCallId, call)
    this.#last.set(givenId, call)
    return call
  }

  opened(toolCallId: string): readonly OpenCall[] {
    return [this.#byId.get(toolCallId)].filter((call) => call !== undefined)
  }

  last(givenId: string): OpenCall | undefined {
    return this.#last.get(givenId)
  }

  ask(approvalId: unknown, givenId: string): void {
    this.#asked.set(approvalId, this.last(givenId))
  }

  asked(approvalId: unknown): OpenCall | undefined {
    return this.#asked.get(approvalId)
  }
}

interface PartAt {
  readonly path: string
  readonly part: Fields
}

function fieldsAt(path: string, value: unknown, wanted: string): Fields {
  checkInput.checkRequired(path, value, wanted, isRecord)
  return value as Fields
}

function partsAt(path: string, parts: unknown): readonly PartAt[] {
  checkInput.checkRequired(path, parts, 'a list of parts', Array.isArray)
  return (parts as readonly unknown[]).map((part, place) => ({ path: `${path}[${place}]`, part: fieldsAt(`${path}[${place}]`, part, 'a part') }))
}

function textAt(path: string, value: unknown): string {
  checkInput.checkRequired(path, value, 'a text', (text) => typeof text === 'string')
  return value as string
}

/** Returns the provider options of a part or message under the name that they have in a transcript. */
function optionsOf<Name extends 'providerOptions' | 'providerMetadata'>(path: string, options: unknown, name: Name): Partial<Record<Name, ProviderMetadata>> {
  checkInput.checkValues(`${path}.providerOptions`, options, checkInput.checkObject)
  return (options === undefined ? {} : { [name]: toJsonValue(options) }) as Partial<Record<Name, ProviderMetadata>>
}

const answerTypes = ['text', 'reasoning', 'file', 'reasoning-file', 'custom', 'tool-call', 'tool-result', 'tool-approval-request'] as const

function answerPart({ path, part }: PartAt, calls: Calls): readonly AssistantPart[] {
  checkInput.checkOneOf(`${path}.type`, needed(part['type']), answerTypes)
  const type = part['type'] as (typeof answerTypes)[number]
  const metadata = optionsOf(path, part['providerOptions'], 'providerMetadata')
  switch (type) {
    case 'text':
    case 'reasoning':
      return [{ type, text: textAt(`${path}.text`, part['text']), ...metadata }]
    case 'file':
    case 'reasoning-file': {
      const file = fileAt(path, part, part['data'], 'data')
      return [file.type === 'text' ? file : { type, mediaType: file.mediaType, data: file.data, ...metadata }]
    }
    case 'custom':
      return [{ type, kind: textAt(`${path}.kind`, part['kind']) as `${string}.${string}`, ...metadata }]
    case 'tool-call': {
      const { toolCallId, toolName } = callAt(path, part)
      const input = toJsonValue(part['input'] ?? {})
      return [{ type, toolCallId: calls.add(toolCallId, toolName).toolCallId, toolName, input, ...(part['providerExecuted'] === true && { providerExecuted: true }), ...metadata }]
    }
    case 'tool-result': {
      const { toolCallId, toolName } = callAt(path, part)
      const output = outputAt(`${path}.output`, part['output'])
      return [{ type, toolCallId: calls.last(toolCallId)?.toolCallId ?? toolCallId, toolName, result: resultOf(output), ...(output.type.startsWith('error') && { isError: true }), ...metadata }]
    }
    case 'tool-approval-request':
      calls.ask(part['approvalId'], textAt(`${path}.toolCallId`, part['toolCallId']))
      return []
  }
}

function callAt(path: string, part: Fields): { readonly toolCallId: string; readonly toolName: string } {
  return { toolCallId: textAt(`${path}.toolCallId`, part['toolCallId']), toolName: textAt(`${path}.toolName`, part['toolName']) }
}

/** Returns the result of a tool that the provider ran, as the provider reports it: without the type of the output. */
function resultOf(output: ToolOutput): JSONValue {
  if (output.type === 'execution-denied') return { type: output.type, ...(output.reason !== undefined && { reason: output.reason }) }
  return toJsonValue(output.value)
}

function userPart({ path, part }: PartAt): ContentPart {
  checkInput.checkOneOf(`${path}.type`, needed(part['type']), ['text', 'image', 'file'])
  const options = optionsOf(path, part['providerOptions'], 'providerOptions')
  if (part['type'] === 'text') return { type: 'text', text: textAt(`${path}.text`, part['text']), ...options }
  const name = part['type'] === 'image' ? 'image' : 'data'
  return { ...fileAt(path, part, part[name], name), ...options }
}

/** Adds a result or a refusal to its call. */
function readAnswer({ path, part }: PartAt, calls: Calls): void {
  checkInput.checkOneOf(`${path}.type`, needed(part['type']), ['tool-result', 'tool-approval-response'])
  if (part['type'] === 'tool-result') {
    const call = calls.last(callAt(path, part).toolCallId)
    const output = outputAt(`${path}.output`, part['output'])
    if (call) call.output ??= output
  } else if (part['approved'] === false) {
    const call = calls.asked(part['approvalId'])
    if (call) call.refusal = { type: 'execution-denied', ...reasonAt(path, part['reason']) }
  }
}

function reasonAt(path: string, reason: unknown): { readonly reason?: string } {
  return reason === undefined ? {} : { reason: textAt(`${path}.reason`, reason) }
}

function outputAt(path: string, value: unknown): ToolOutput {
  const output = fieldsAt(path, value, "an output, like { type: 'text', value }")
  checkInput.checkOneOf(`${path}.type`, needed(output['type']), ['text', 'json', 'content', 'error-text', 'error-json', 'execution-denied'])
  const type = output['type'] as ToolOutput['type']
  switch (type) {
    case 'text':
    case 'error-text':
      return { type, value: textAt(`${path}.value`, output['value']) }
    case 'json':
    case 'error-json':
      return { type, value: toJsonValue(output['value']) }
    case 'execution-denied':
      return { type, ...reasonAt(path, output['reason']) }
    case 'content':
      return { type, value: partsAt(`${path}.value`, output['value']).map(outputItem) }
  }
}

/** Fields with the data of an item, by the types of items that the AI SDK has had. The last ones have data that only the provider has. */
const itemFields: Readonly<Record<string, string | undefined>> = {
  ...{ file: 'data', media: 'data', 'file-data': 'data', 'image-data': 'data', 'file-url': 'url', 'image-url': 'url' },
  ...{ 'file-id': 'fileId', 'image-file-id': 'fileId', 'file-reference': 'providerReference', 'image-file-reference': 'providerReference', custom: 'providerOptions' },
}

function outputItem({ path, part }: PartAt): ContentPart {
  checkInput.checkOneOf(`${path}.type`, needed(part['type']), ['text', ...Object.keys(itemFields)])
  const options = optionsOf(path, part['providerOptions'], 'providerOptions')
  if (part['type'] === 'text') return { type: 'text', text: textAt(`${path}.text`, part['text']), ...options }
  const name = itemFields[part['type'] as string] ?? 'data'
  if (name !== 'data' && name !== 'url') return { type: 'text', text: onlyProviderHas(part['type'] as string) }
  const isImage = (part['type'] as string).startsWith('image')
  return { ...fileAt(path, { mediaType: isImage ? 'image/*' : 'application/octet-stream', ...part }, part[name], name), ...options }
}

const onlyProviderHas = (kind: string): string => `[${kind} omitted: only the provider has its content]`

/** Returns a file, or a text if only the provider has its content. `name` is the field with the data. */
function fileAt(path: string, { mediaType, filename, type }: Fields, data: unknown, name: string): FilePart | TextPart {
  const content = dataAt(`${path}.${name}`, data)
  if (content === undefined) return { type: 'text', text: onlyProviderHas(name === 'image' ? 'image' : 'file') }
  const stated = mediaType ?? content.mediaType ?? (type === 'image' ? 'image/*' : undefined)
  return {
    ...{ type: 'file', mediaType: textAt(`${path}.mediaType`, stated), data: content.data },
    ...(filename !== undefined && { filename: textAt(`${path}.filename`, filename) }),
  }
}

interface FileContent {
  readonly data: FileData
  /** Stated by a data URL. */
  readonly mediaType?: string
}

/** Returns `undefined` for the reference of a file that only the provider has. */
function dataAt(path: string, data: unknown): FileContent | undefined {
  if (typeof data === 'string') return textData(data)
  if (data instanceof URL) return textData(data.href)
  if (data instanceof Uint8Array) return { data: { type: 'data', data: toBase64(data) } }
  if (data instanceof ArrayBuffer) return { data: { type: 'data', data: toBase64(new Uint8Array(data)) } }
  const fields = fieldsAt(path, data, 'a text in base64, bytes or a URL')
  switch (fields['type']) {
    case 'data':
      return dataAt(`${path}.data`, fields['data'])
    case 'url':
      return dataAt(`${path}.url`, fields['url'])
    case 'text':
      return { data: { type: 'data', data: toBase64(new TextEncoder().encode(textAt(`${path}.text`, fields['text']))) } }
  }
  checkInput.checkValues(path, data, (at, id) => void textAt(at, id))
  return undefined
}

const base64Url = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i

function textData(text: string): FileContent {
  const [start, mediaType] = base64Url.exec(text) ?? []
  if (start !== undefined) return { data: { type: 'data', data: text.slice(start.length) }, ...(mediaType && { mediaType }) }
  return { data: /^(?:https?|data):/i.test(text) ? { type: 'url', url: text } : { type: 'data', data: text } }
}
