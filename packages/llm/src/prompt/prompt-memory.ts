import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message, Repair, RepairCode } from '../messages.ts'
import type { CallIds } from './call-ids.ts'
import type { ToPromptOptions } from './options.ts'
import { hasPart } from './parts.ts'
import { isOfProvider } from './provider-calls.ts'
import { convertMessages, systemMessages, wholePrompt } from './to-prompt.ts'

interface Converted {
  readonly prompt: LanguageModelV4Prompt
  readonly repairs: readonly Repair[]
}

/** The beginning of a conversation as it was converted for earlier calls. It grows with the conversation. */
interface Beginning {
  /** Model and history options: another one makes another prompt of the same messages. */
  readonly key: string
  readonly messages: Message[]
  readonly prompt: LanguageModelV4Message[]
  readonly repairs: Repair[]
  readonly callIds: Set<string>
}

/** By its last message. */
const beginnings = new WeakMap<Message, Beginning>()

/**
 * As `toPrompt` for options that were checked, and what earlier calls have converted of the same conversation is not converted again: a conversation
 * of a thousand steps would be converted a thousand times. Only frozen messages are remembered, and what is made of them
 * is frozen: later calls send the same objects, so a middleware that wants others must make them. A transcript that
 * `toPrompt` has to put in order, or in which a provider ran tools, is converted whole.
 */
export function promptOf(options: ToPromptOptions): Converted {
  const { messages } = options
  const end = firstLoose(messages)
  if (end === 0) return wholePrompt(options)
  const beginning = beginningOf(options, end)
  const before = messages[beginning.messages.length - 1]
  const isGrown = grow(beginning, options, end)
  if (before) beginnings.delete(before)
  const rest = isGrown && convertRest(beginning, options)
  if (!rest) return wholePrompt(options)
  const last = messages[end - 1]
  if (last) beginnings.set(last, beginning)
  const prompt = systemMessages(options.instructions)
  append(prompt, beginning.prompt)
  append(prompt, rest.prompt)
  return { prompt, repairs: [...beginning.repairs, ...rest.repairs] }
}

/** Place of the first message that somebody may still change. */
function firstLoose(messages: readonly Message[]): number {
  let place = 0
  while (place < messages.length && Object.isFrozen(messages[place])) place++
  return place
}

/** The longest that is known of these messages up to `end`, or an empty one. */
function beginningOf({ messages, model, history }: ToPromptOptions, end: number): Beginning {
  const key = JSON.stringify([model.provider, model.modelId, model.input, history])
  for (let place = end - 1; place >= 0; place--) {
    const message = messages[place]
    const known = message && beginnings.get(message)
    if (known && known.key === key && known.messages.length === place + 1 && isSame(known.messages, messages)) return known
  }
  return { key, messages: [], prompt: [], repairs: [], callIds: new Set() }
}

function isSame(beginning: readonly Message[], messages: readonly Message[]): boolean {
  for (let place = 0; place < beginning.length; place++) if (beginning[place] !== messages[place]) return false
  return true
}

/** Takes in the messages up to `end`. False: they do not stand for themselves. */
function grow(beginning: Beginning, options: ToPromptOptions, end: number): boolean {
  const start = beginning.messages.length
  const messages = options.messages.slice(start, end)
  const converted = convertAlone(beginning, { ...options, messages }, roleBefore(beginning, options))
  if (!converted) return false
  append(beginning.messages, messages)
  append(beginning.prompt, converted.prompt.map(frozen))
  append(beginning.repairs, converted.repairs)
  for (const ids of converted.ids) for (const id of ids) if (id !== undefined) beginning.callIds.add(id)
  return true
}

function frozen(message: LanguageModelV4Message): LanguageModelV4Message {
  if (typeof message.content !== 'string') for (const part of Object.freeze(message.content)) Object.freeze(part)
  return Object.freeze(message)
}

function convertRest(beginning: Beginning, options: ToPromptOptions): Alone | undefined {
  const messages = options.messages.slice(beginning.messages.length)
  return convertAlone(beginning, { ...options, messages }, roleBefore(beginning, options))
}

function roleBefore({ prompt }: Beginning, { instructions }: ToPromptOptions): LanguageModelV4Message['role'] | undefined {
  return prompt.at(-1)?.role ?? systemMessages(instructions).at(-1)?.role
}

interface Alone {
  readonly prompt: readonly LanguageModelV4Message[]
  readonly repairs: readonly Repair[]
  readonly ids: CallIds
}

/** What a change of calls and results reaches beyond the message at which it was made. */
const farReaching: ReadonlySet<RepairCode> = new Set<RepairCode>(['missing-result', 'moved-result', 'orphan-result', 'duplicate-result'])

/** Messages behind a beginning, converted without it; undefined where that would make something else of them. */
function convertAlone({ messages: before, callIds }: Beginning, options: ToPromptOptions, role: LanguageModelV4Message['role'] | undefined): Alone | undefined {
  if (options.messages.some((message) => message.role === 'assistant' && hasPart(message.content, isOfProvider))) return undefined
  const { prompt, repairs, ids } = convertMessages(options, role)
  if (repairs.some(({ code }) => farReaching.has(code))) return undefined
  if (ids.some((ofMessage) => ofMessage.some((id) => id !== undefined && callIds.has(id)))) return undefined
  return { prompt, ids, repairs: repairs.map((repair) => ({ ...repair, messageIndex: repair.messageIndex + before.length })) }
}

/** Spreading a list of any length into arguments may overflow the stack. */
function append<Item>(list: Item[], items: readonly Item[]): void {
  for (const item of items) list.push(item)
}
