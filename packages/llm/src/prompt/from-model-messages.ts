import type { ModelMessage } from 'ai'
import { isRecord, needed } from '../arguments.ts'
import { check, checkInput } from '../check.ts'
import { toBase64, toJsonValue } from '../json.ts'
import { newMessageId } from '../message-id.ts'
import type {
  AssistantPart,
  ContentPart,
  FileData,
  FilePart,
  Message,
  ProviderMetadata,
  ProviderToolResultPart,
  TextPart,
  ToolOutput,
  UserMessage,
} from '../messages.ts'
import { UniqueIds } from '../unique-ids.ts'
import { missingResult } from './tool-output.ts'

/** Origin and time of converted messages. */
export interface FromModelMessagesOptions {
  /**
   * Provider that wrote the answers, as its model reports it: `model.provider`, for example `openai.responses`. Data of a provider,
   * like signed reasoning, is sent only to the same provider and model. Default `unknown`: it is sent to none.
   */
  readonly provider?: string
  /** Model that wrote the answers: `model.modelId`. Default `unknown`. */
  readonly modelId?: string
  /** Time of all messages, in ms since 1970. Default: now. */
  readonly at?: number
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Converts messages of the AI SDK to a transcript, for example for the `history` of a new session. Results follow their call in the
 * order of the calls. A call without a result gets an error result, and a call that a person has refused the output
 * `execution-denied`. If a model used the id of a call again, the later call gets `~2` at the end of its id. A file of which there is
 * only an id at its provider becomes a text that says so. Left out are: system messages, because the system prompt is no message of
 * a transcript; results without a call; provider options of answers and results as a whole, which mark what is to be cached; and
 * file names in answers. Throws `invalid-input` for a message or part of an unknown kind.
 */
export function fromModelMessages(messages: readonly ModelMessage[], options: FromModelMessagesOptions = {}): readonly Message[] {
  checkInput.checkRequired('messages', messages, 'a list of messages', Array.isArray)
  check.checkFields<FromModelMessagesOptions>('fromModelMessages.options', options, {
    provider: check.optionalName,
    modelId: check.optionalName,
    at: check.whole(0),
  })
  const { provider = 'unknown', modelId = 'unknown', at = Date.now() } = options
  const given = messages.map((message, place) => fieldsAt(`messages[${place}]`, message, 'a message'))
  for (const [place, { role }] of given.entries())
    checkInput.checkOneOf(`messages[${place}].role`, needed(role), ['system', 'user', 'assistant', 'tool'])
  const calls = new Calls()
  const converted = given.flatMap(({ role, content, providerOptions }, place): readonly (UserMessage | Answer)[] => {
    const path = `messages[${place}].content`
    if (role === 'user')
      return [
        {
          role,
          content: typeof content === 'string' ? content : partsAt(path, content).map(userPart),
          at,
          ...optionsOf(`messages[${place}]`, providerOptions, 'providerOptions'),
        },
      ]
    if (role === 'tool') for (const part of partsAt(path, content)) readAnswer(part, calls)
    if (role !== 'assistant') return []
    const own = calls.ofNextAnswer()
    return [
      {
        parts:
          typeof content === 'string'
            ? [{ type: 'text', text: content }]
            : partsAt(path, content).flatMap((part) => answerPart(part, calls)),
        calls: own,
      },
    ]
  })
  return converted.flatMap((entry): readonly Message[] => {
    if ('role' in entry) return [entry]
    const open = entry.calls.filter(({ isServed }) => !isServed)
    const content = [...entry.parts, ...entry.calls.filter(({ isServed }) => isServed).flatMap(servedResult)]
    const stopReason = open.length > 0 ? 'tool-calls' : 'stop'
    return [
      { role: 'assistant', id: newMessageId(), content, provider, modelId, stopReason, usage: {}, at, timing: { totalMs: 0 } },
      ...open.map(({ toolCallId, toolName, output, refusal }): Message => ({
        role: 'tool-result',
        toolCallId,
        toolName,
        output: output ?? refusal ?? missingResult,
        at,
      })),
    ]
  })
}

interface Answer {
  readonly parts: readonly AssistantPart[]
  /** Filled by the messages that follow. */
  readonly calls: readonly GivenCall[]
}

interface GivenCall {
  /** Unique in the transcript. */
  readonly toolCallId: string
  readonly toolName: string
  /** True if the provider runs the tool. */
  readonly isServed: boolean
  /** True if the answer itself has the result. */
  hasResult?: true
  output?: ToolOutput
  /** Present if a person has refused the call. */
  refusal?: ToolOutput
}

/** Returns the result of a call that the provider runs, if only a tool message has it. */
function servedResult({ toolCallId, toolName, hasResult, output, refusal }: GivenCall): readonly ProviderToolResultPart[] {
  const given = output ?? refusal
  return hasResult || !given ? [] : [{ type: 'tool-result', toolCallId, toolName, ...resultOf(given) }]
}

/** Calls of the answers so far. Some models use an id again in a later answer, so a given id means the calls of the last one. */
class Calls {
  readonly #ids = new UniqueIds()
  readonly #byGivenId = new Map<string, { readonly answer: readonly GivenCall[]; readonly calls: GivenCall[] }>()
  readonly #asked = new Map<unknown, GivenCall>()
  #answer: GivenCall[] = []

  /** Begins an answer. Returns the list that its calls will be in. */
  ofNextAnswer(): readonly GivenCall[] {
    this.#answer = []
    return this.#answer
  }

  add(givenId: string, toolName: string, isServed: boolean): GivenCall {
    const call: GivenCall = { toolCallId: this.#ids.take(givenId), toolName, isServed }
    const known = this.#byGivenId.get(givenId)
    if (known?.answer === this.#answer) known.calls.push(call)
    else this.#byGivenId.set(givenId, { answer: this.#answer, calls: [call] })
    this.#answer.push(call)
    return call
  }

  /** Returns the first call of this id without a result. */
  waiting(givenId: string): GivenCall | undefined {
    return this.#byGivenId.get(givenId)?.calls.find(({ output, hasResult }) => !output && !hasResult)
  }

  ask(approvalId: unknown, givenId: string): void {
    const call = this.waiting(givenId)
    if (call) this.#asked.set(approvalId, call)
  }

  asked(approvalId: unknown): GivenCall | undefined {
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
  return (parts as readonly unknown[]).map((part, place) => ({
    path: `${path}[${place}]`,
    part: fieldsAt(`${path}[${place}]`, part, 'a part'),
  }))
}

function textAt(path: string, value: unknown): string {
  checkInput.checkRequired(path, value, 'a text', (text) => typeof text === 'string')
  return value as string
}

/** Returns the provider options of a part or message under the name that they have in a transcript. */
function optionsOf<Name extends 'providerOptions' | 'providerMetadata'>(
  path: string,
  options: unknown,
  name: Name,
): Partial<Record<Name, ProviderMetadata>> {
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
      const isServed = part['providerExecuted'] === true
      const input = toJsonValue(part['input'] ?? {})
      return [
        {
          type,
          toolCallId: calls.add(toolCallId, toolName, isServed).toolCallId,
          toolName,
          input,
          ...(isServed && { providerExecuted: true }),
          ...metadata,
        },
      ]
    }
    case 'tool-result': {
      const { toolCallId, toolName } = callAt(path, part)
      const result = resultOf(outputAt(`${path}.output`, part['output']))
      const call = calls.waiting(toolCallId)
      if (call) call.hasResult = true
      return [{ type, toolCallId: call?.toolCallId ?? toolCallId, toolName, ...result, ...metadata }]
    }
    case 'tool-approval-request':
      calls.ask(part['approvalId'], textAt(`${path}.toolCallId`, part['toolCallId']))
      return []
  }
}

function callAt(path: string, part: Fields): { readonly toolCallId: string; readonly toolName: string } {
  for (const name of ['toolCallId', 'toolName']) checkInput.checkName(`${path}.${name}`, part[name])
  return { toolCallId: part['toolCallId'] as string, toolName: part['toolName'] as string }
}

/** Returns the result of a tool that the provider ran, as the provider reports it: without the type of the output. */
function resultOf(output: ToolOutput): Pick<ProviderToolResultPart, 'result' | 'isError'> {
  if (output.type === 'execution-denied')
    return { result: { type: output.type, ...(output.reason !== undefined && { reason: output.reason }) } }
  return { result: toJsonValue(output.value), ...(output.type.startsWith('error') && { isError: true }) }
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
    const call = calls.waiting(callAt(path, part).toolCallId)
    const output = outputAt(`${path}.output`, part['output'])
    if (call) call.output = output
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
  file: 'data',
  media: 'data',
  'file-data': 'data',
  'image-data': 'data',
  'file-url': 'url',
  'image-url': 'url',
  'file-id': 'fileId',
  'image-file-id': 'fileId',
  'file-reference': 'providerReference',
  'image-file-reference': 'providerReference',
  custom: 'providerOptions',
}

function outputItem({ path, part }: PartAt): ContentPart {
  checkInput.checkOneOf(`${path}.type`, needed(part['type']), ['text', ...Object.keys(itemFields)])
  const options = optionsOf(path, part['providerOptions'], 'providerOptions')
  if (part['type'] === 'text') return { type: 'text', text: textAt(`${path}.text`, part['text']), ...options }
  const name = itemFields[part['type'] as string] ?? 'data'
  if (name !== 'data' && name !== 'url') return { type: 'text', text: onlyProviderHas(part['type'] as string) }
  return { ...fileAt(path, part, part[name], name), ...options }
}

const onlyProviderHas = (kind: string): string => `[${kind} omitted: only the provider has its content]`

/** Returns a file, or a text if only the provider has its content. `name` is the field with the data. */
function fileAt(path: string, { mediaType, filename, type }: Fields, data: unknown, name: string): FilePart | TextPart {
  const content = dataAt(`${path}.${name}`, data)
  const isImage = (type as string).startsWith('image')
  if (content === undefined) return { type: 'text', text: onlyProviderHas(isImage ? 'image' : 'file') }
  // Only images and URLs may have no media type.
  const usual = isImage ? 'image/*' : name === 'url' ? 'application/octet-stream' : undefined
  return {
    type: 'file',
    mediaType: content.mediaType ?? textAt(`${path}.mediaType`, mediaType ?? usual),
    data: content.data,
    ...(filename !== undefined && { filename: textAt(`${path}.filename`, filename) }),
  }
}

interface FileContent {
  readonly data: FileData
  /** Stated by a data URL. It counts before that of the part. */
  readonly mediaType?: string
}

/** Returns `undefined` for the reference of a file that only the provider has. */
function dataAt(path: string, data: unknown): FileContent | undefined {
  // Base64 has no colon.
  if (typeof data === 'string') return /^[a-z][a-z\d+.-]*:/i.test(data) ? urlData(data) : { data: { type: 'data', data } }
  if (data instanceof URL) return urlData(data.href)
  if (data instanceof Uint8Array) return { data: { type: 'data', data: toBase64(data) } }
  if (data instanceof ArrayBuffer) return { data: { type: 'data', data: toBase64(new Uint8Array(data)) } }
  const { type, url, originalUrl, text, reference, ...ids } = fieldsAt(path, data, 'a text in base64, bytes or a URL')
  switch (type) {
    case 'data':
      return dataAt(`${path}.data`, ids['data'])
    case 'url':
      return urlData(url instanceof URL ? textAt(`${path}.originalUrl`, originalUrl ?? url.href) : textAt(`${path}.url`, url))
    case 'text':
      return { data: { type: 'data', data: toBase64(new TextEncoder().encode(textAt(`${path}.text`, text))) } }
    case 'reference':
      checkInput.checkRequired(`${path}.reference`, reference, 'an object with the id of the file by provider', isRecord)
      return undefined
  }
  checkInput.checkValues(path, data, (at, id) => void textAt(at, id))
  return undefined
}

const base64Url = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i

function urlData(url: string): FileContent {
  const [start, mediaType] = base64Url.exec(url) ?? []
  return start === undefined
    ? { data: { type: 'url', url } }
    : { data: { type: 'data', data: url.slice(start.length) }, ...(mediaType && { mediaType }) }
}
