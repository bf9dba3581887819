import { resolveSchema } from '@bowline/llm'
import type { CacheMarks, Message } from '@bowline/llm'
import { hashText } from '../base/hash-json.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { CacheMiss } from '../events/message-events.ts'
import { turnState } from './plugin.ts'
import type { Declarations, SystemPrompt } from './run-context.ts'
import type { RequestDraft } from './subjects.ts'
import { promptFor } from './system-prompt.ts'
import type { Turn } from './turn.ts'

/** The beginning of a request, compared with the previous request. */
export interface RequestPrefix {
  readonly cache: CacheMarks
  /** The first part that differs from the last request of the conversation. */
  readonly miss?: CacheMiss | undefined
}

/** A part of a request without its text. */
interface Part {
  readonly name: string
  readonly hash: string
}

/** The last request of a conversation, as far as later requests should repeat it. */
interface LastRequest {
  prompt: readonly Part[]
  tools: readonly Part[]
  /** Hashes of the messages. The list grows with the conversation. */
  readonly messages: string[]
  /** The list that was hashed, if it is that of the transcript, which only grows. Weak: it must not outlive the transcript. */
  list: WeakRef<readonly Message[]> | undefined
}

const lastRequests = new WeakMap<object, LastRequest>()

const stateOf = turnState(() => ({ prompt: undefined as SystemPrompt | undefined }))

/**
 * Returns the places of the cache marks of the request, and what has changed since the last one. The work does not grow with the
 * conversation.
 */
export function prefixOf(turn: Turn, request: RequestDraft): MaybePromise<RequestPrefix> {
  if (turn.agent.cache === 'off') return { cache: 'off' }
  const tools = toolParts(request.tools)
  return tools instanceof Promise ? tools.then((known) => compared(turn, request, known)) : compared(turn, request, tools)
}

function compared(
  turn: Turn,
  { instructions, messages, lasting = messages }: RequestDraft,
  tools: readonly Part[] | undefined,
): RequestPrefix {
  const state = stateOf(turn)
  const prompt = state.prompt?.text === instructions ? state.prompt : promptFor(turn.prompt, instructions)
  state.prompt = prompt
  const end = storedEnd(turn, lasting)
  const isWhole = prompt.lasting === instructions.length && end === messages.length
  const cache: CacheMarks = isWhole ? 'auto' : { at: 'auto', lasting: { instructions: prompt.lasting, messages: end } }
  // A schema that cannot be read makes the request itself fail.
  return tools ? { cache, miss: missIn(turn, { prompt: promptParts(prompt), tools, messages: lasting, end }) } : { cache }
}

/** Returns the index after the last stored message. Later messages are shown only to this turn, or to this request. */
function storedEnd({ transcript }: Turn, messages: readonly Message[]): number {
  return messages.findLastIndex(({ id }) => id !== undefined && transcript.hasMessage(id)) + 1
}

interface Beginning {
  readonly prompt: readonly Part[]
  readonly tools: readonly Part[]
  readonly messages: readonly Message[]
  /** Index after the last message that counts. */
  readonly end: number
}

function missIn(turn: Turn, { prompt, tools, messages, end }: Beginning): CacheMiss | undefined {
  const { journal } = turn.run
  const conversation = journal.conversation ?? journal
  const last = lastRequests.get(conversation)
  const from = last?.list?.deref() === messages ? last.messages.length : 0
  const known: LastRequest = last ?? { prompt, tools, messages: [], list: undefined }
  const section = firstDifference(known.prompt, prompt)
  const tool = firstDifference(known.tools, tools)
  const index = takeHashes(known.messages, messages, from, end)
  known.prompt = prompt
  known.tools = tools
  known.list = messages === turn.transcript.view ? new WeakRef(messages) : undefined
  lastRequests.set(conversation, known)
  if (!last) return undefined
  if (section !== undefined) return { part: 'section', name: section }
  if (tool !== undefined) return { part: 'tool', name: tool }
  return index === undefined ? undefined : messageAt(messages, index, end)
}

function messageAt(messages: readonly Message[], index: number, end: number): CacheMiss {
  const role = index < end ? messages[index]?.role : undefined
  return { part: 'message', index, ...(role && { role }) }
}

/** Returns the name of the first part that was changed, added or removed. */
function firstDifference(before: readonly Part[], now: readonly Part[]): string | undefined {
  if (before === now) return undefined
  const place = Math.max(before.length, now.length)
  for (let index = 0; index < place; index++) {
    const [was, is] = [before[index], now[index]]
    if (was?.name === is?.name && was?.hash === is?.hash) continue
    const isGone = was !== undefined && !now.some(({ name }) => name === was.name)
    return isGone ? was.name : (is?.name ?? was?.name)
  }
  return undefined
}

/** Updates the known hashes. Returns the index of the first one that has changed. */
function takeHashes(known: string[], messages: readonly Message[], from: number, end: number): number | undefined {
  let first: number | undefined
  for (let index = from; index < end; index++) {
    const hash = messageHash(messages[index] as Message)
    if (index < known.length && known[index] !== hash) first ??= index
    known[index] = hash
  }
  if (end >= known.length) return first
  known.length = end
  return first ?? end
}

const messageHashes = new WeakMap<Message, string>()

/** Hashes what a model is sent of the message, so that two copies of one message have the same hash. */
function messageHash(message: Message): string {
  const known = messageHashes.get(message)
  if (known !== undefined) return known
  const hash = shortHash(JSON.stringify(sentOf(message)))
  messageHashes.set(message, hash)
  return hash
}

function sentOf(message: Message): readonly unknown[] {
  switch (message.role) {
    case 'user':
      return [message.role, message.content, message.providerOptions]
    case 'assistant':
      return [message.role, message.content, message.provider, message.modelId, message.stopReason]
    case 'tool-result':
      return [message.role, message.toolCallId, message.toolName, message.output]
    default:
      return message satisfies never
  }
}

const promptHashes = new WeakMap<SystemPrompt, readonly Part[]>()

function promptParts(prompt: SystemPrompt): readonly Part[] {
  const known = promptHashes.get(prompt)
  if (known) return known
  const { text, sections } = prompt
  const parts = sections.map(({ name, end }, place) => ({ name, hash: shortHash(text.slice(sections[place - 1]?.end ?? 0, end)) }))
  promptHashes.set(prompt, parts)
  return parts
}

type Declaration = Declarations[number]

const toolLists = new WeakMap<Declarations, readonly Part[]>()
const toolHashes = new WeakMap<Declaration, string>()

/**
 * Returns the tools in the order in which they are sent, or undefined if a schema cannot be read. Waits only for tools that are new
 * to it.
 */
function toolParts(tools: Declarations): MaybePromise<readonly Part[] | undefined> {
  const known = toolLists.get(tools)
  if (known) return known
  const unknown = tools.filter((tool) => !toolHashes.has(tool))
  if (unknown.length === 0) return takeTools(tools)
  return Promise.all(unknown.map(hashTool)).then(
    () => takeTools(tools),
    () => undefined,
  )
}

function takeTools(tools: Declarations): readonly Part[] {
  const parts = tools.map((tool) => ({ name: tool.name, hash: toolHashes.get(tool) ?? '' })).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  toolLists.set(tools, parts)
  return parts
}

async function hashTool(tool: Declaration): Promise<void> {
  const sent = 'inputSchema' in tool ? { ...tool, inputSchema: (await resolveSchema(tool.inputSchema)).jsonSchema } : tool
  toolHashes.set(tool, shortHash(JSON.stringify(sent)))
}

/** Short, because each conversation keeps a list of thousands of them. */
function shortHash(text: string): string {
  return hashText(text).slice(0, 12)
}
