import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message, Repair, RepairCode } from '../messages.ts'
import { beginnings, knownBeginning, type Beginning } from '../beginnings.ts'
import type { CallIds } from './call-ids.ts'
import type { ToPromptOptions } from './options.ts'
import { hasPart } from './parts.ts'
import { isOfProvider } from './provider-calls.ts'
import { convertMessages, systemMessages, wholePrompt } from './to-prompt.ts'

interface Converted {
  readonly prompt: LanguageModelV4Prompt
  readonly repairs: readonly Repair[]
}

/**
 * Like `toPrompt` for checked options, but reuses what earlier calls converted of the same conversation. Otherwise a conversation
 * of a thousand steps would be converted a thousand times. Only frozen messages are remembered. Their converted form is frozen and
 * shared between calls, so middleware must copy it to change it. A transcript with misplaced results, or with tools that a provider
 * ran, is converted completely.
 */
export function promptOf(options: ToPromptOptions): Converted {
  const { messages } = options
  const beginning = beginningOf(options)
  const end = firstLoose(messages, beginning.messages.length)
  if (end === 0) return wholePrompt(options)
  const before = messages[beginning.messages.length - 1]
  const isGrown = grow(beginning, options, end)
  if (before) beginnings.delete(before)
  const rest = isGrown && convertRest(beginning, options)
  if (!rest) return wholePrompt(options)
  const last = messages[end - 1]
  if (last) beginnings.set(last, beginning)
  const prompt = systemMessages(options.instructions).concat(beginning.prompt, rest.prompt)
  return { prompt, repairs: [...beginning.repairs, ...rest.repairs] }
}

/** Returns the index of the first message, at or after `from`, that is not frozen. */
function firstLoose(messages: readonly Message[], from: number): number {
  let place = from
  while (place < messages.length && Object.isFrozen(messages[place])) place++
  return place
}

/** Returns the longest known start of these messages for the model, or an empty one. */
function beginningOf({ messages, model, history }: ToPromptOptions): Beginning {
  const key = JSON.stringify([model.provider, model.modelId, model.input, history])
  return knownBeginning(messages, key) ?? { key, messages: [], prompt: [], repairs: [], callIds: new Set() }
}

/** Adds the messages up to `end`. Returns false if they cannot be converted on their own. */
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

/** Repairs that affect other messages than the one where they were made. */
const farReaching: ReadonlySet<RepairCode> = new Set<RepairCode>(['missing-result', 'moved-result', 'orphan-result', 'duplicate-result'])

/** Converts the messages after a start on their own. Returns undefined if that would give another result than converting all. */
function convertAlone(
  { messages: before, callIds }: Beginning,
  options: ToPromptOptions,
  role: LanguageModelV4Message['role'] | undefined,
): Alone | undefined {
  if (options.messages.some((message) => message.role === 'assistant' && hasPart(message.content, isOfProvider))) return undefined
  const { prompt, repairs, ids } = convertMessages(options, role)
  if (repairs.some(({ code }) => farReaching.has(code))) return undefined
  if (ids.some((ofMessage) => ofMessage.some((id) => id !== undefined && callIds.has(id)))) return undefined
  return { prompt, ids, repairs: repairs.map((repair) => ({ ...repair, messageIndex: repair.messageIndex + before.length })) }
}

/** Spreading a long list into arguments could overflow the stack. */
function append<Item>(list: Item[], items: readonly Item[]): void {
  for (const item of items) list.push(item)
}
