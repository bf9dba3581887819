import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { isRecord, needed } from '../arguments.ts'
import { check, checkItems, fieldsOf, optionalFieldsOf } from '../check.ts'

/**
 * A section of the prompt whose end can be marked for the provider's cache. Their order in the prompt: tools, instructions,
 * messages.
 */
export type CachePlace = 'tools' | 'instructions' | 'messages'

/**
 * Cache marks: how much of the prompt the provider caches for the next call. `auto` marks the instructions (or the tools, if there
 * are none) and the messages.
 */
export type CacheMarks =
  | 'off'
  | 'auto'
  | {
      readonly at: 'auto' | readonly CachePlace[]
      /** Lifetime of the cache. Default: the provider's default, five minutes at the time of writing. */
      readonly ttl?: '5m' | '1h'
      /** The part that later calls repeat, if that is not everything. Marks are set at its end. */
      readonly lasting?: LastingPart
    }

/** The part of the prompt that later calls repeat. Cache marks are set at its end. */
export interface LastingPart {
  /** Number of characters of the last instruction text, from its start. The rest is sent as a separate text. Default: all. */
  readonly instructions?: number
  /** Number of messages, from the first one. Default: all. */
  readonly messages?: number
}

/** Throws `LlmError` for invalid cache marks. */
export function checkCacheMarks(cache: unknown): void {
  if (cache === undefined || cache === 'off' || cache === 'auto') return
  check.checkRequired('cache', cache, 'off, auto or { at }', isRecord)
  const { at, ttl, lasting } = fieldsOf('cache', cache, ['at', 'ttl', 'lasting'])
  if (at !== 'auto') {
    check.checkRequired('cache.at', at, 'auto or a list of places', Array.isArray)
    checkItems('cache.at', at, (path, place) => check.checkOneOf(path, needed(place), placesByWorth))
  }
  check.checkOneOf('cache.ttl', ttl, ['5m', '1h'])
  const { instructions, messages } = optionalFieldsOf('cache.lasting', lasting, ['instructions', 'messages'])
  check.checkWhole('cache.lasting.instructions', instructions, 0)
  check.checkWhole('cache.lasting.messages', messages, 0)
}

type Markable = Pick<LanguageModelV4CallOptions, 'prompt' | 'tools' | 'providerOptions'>
type Part = Exclude<LanguageModelV4Message['content'], string>[number]
type Mark = { readonly type: 'ephemeral'; readonly ttl?: '5m' | '1h' }

const mostMarks = 4

/** Order in which marks are set while there is room. A later end covers more of the prompt. */
const placesByWorth: readonly CachePlace[] = ['messages', 'instructions', 'tools']

/** Positions in the prompt after which marks are set. */
interface Ends {
  /** Index of the last system message that later calls repeat; -1 if there is none. */
  readonly instructions: number
  /** Index of the last message that later calls repeat; -1 if there is none. */
  readonly messages: number
}

/**
 * Sets the cache marks that Anthropic reads. Marks of the caller are kept and count towards the limit; at their places no further
 * mark is set. Does not modify its argument. `passing`: number of messages at the end of the prompt that later calls do not repeat.
 */
export function withCacheMarks<T extends Markable>(given: T, cache: CacheMarks = 'off', passing = 0): T {
  if (cache === 'off') return given
  const { at, ttl, lasting }: Exclude<CacheMarks, string> = cache === 'auto' ? { at: 'auto' } : cache
  const { prompt, instructions } = withSplitInstructions(given.prompt, lasting?.instructions)
  const ends: Ends = { instructions, messages: prompt.length - 1 - passing }
  const places = at === 'auto' ? automaticPlaces(ends) : at
  const mark: Mark = { type: 'ephemeral', ...(ttl && { ttl }) }
  let call: T = prompt === given.prompt ? given : { ...given, prompt }
  let room = mostMarks - countMarks(call)
  for (const place of placesByWorth) {
    if (room <= 0 || !places.includes(place)) continue
    const added = setMark[place](call, mark, ends)
    if (!added) continue
    call = { ...call, ...added }
    room--
  }
  return call
}

function automaticPlaces({ instructions }: Ends): readonly CachePlace[] {
  return instructions === -1 ? ['tools', 'messages'] : ['instructions', 'messages']
}

/**
 * Splits the last instruction text after the repeated characters. Returns the prompt and the index of the last repeated system
 * message.
 */
function withSplitInstructions(
  prompt: LanguageModelV4Prompt,
  characters = Infinity,
): Pick<Ends, 'instructions'> & { readonly prompt: LanguageModelV4Prompt } {
  const last = prompt.findLastIndex(({ role }) => role === 'system')
  const message = prompt[last]
  if (message?.role !== 'system') return { prompt, instructions: -1 }
  const { content } = message
  const head = content.slice(0, characters)
  const rest = content.slice(head.length)
  if (rest.trim() === '' || hasMark(message.providerOptions)) return { prompt, instructions: last }
  // Providers reject a blank text, or one that ends with half a surrogate pair.
  if (head.trim() === '' || !head.isWellFormed()) return { prompt, instructions: last - 1 }
  return { prompt: prompt.toSpliced(last, 1, { ...message, content: head }, { ...message, content: rest }), instructions: last }
}

/** Sets a mark at each place. Returns undefined if there is nothing to mark, or if there is a mark already. */
const setMark: Readonly<Record<CachePlace, (call: Markable, mark: Mark, ends: Ends) => Partial<Markable> | undefined>> = {
  tools({ tools = [] }, mark) {
    // Tools that the provider runs have no options. Tools with deferred loading are not part of the cached prefix.
    const place = tools.findLastIndex((tool) => tool.type === 'function' && !tool.providerOptions?.['anthropic']?.['deferLoading'])
    const tool = tools[place]
    if (tool?.type !== 'function' || hasMark(tool.providerOptions)) return undefined
    return { tools: tools.with(place, marked(tool, mark)) }
  },
  instructions({ prompt }, mark, { instructions }) {
    const message = prompt[instructions]
    if (!message || hasMark(message.providerOptions)) return undefined
    return { prompt: prompt.with(instructions, marked(message, mark)) }
  },
  messages({ prompt }, mark, { messages }) {
    const message = prompt[messages]
    if (!message || message.role === 'system' || hasMark(message.providerOptions)) return undefined
    const content: readonly Part[] = message.content
    const place = content.findLastIndex(canCarryMark)
    const part = content[place]
    if (!part || marksOfPart(part) > 0) return undefined
    const markedMessage = { ...message, content: content.with(place, marked(part, mark)) } as LanguageModelV4Message
    return { prompt: prompt.with(messages, markedMessage) }
  },
}

function marked<T extends { providerOptions?: SharedV4ProviderOptions }>(item: T, mark: Mark): T {
  const { providerOptions } = item
  return {
    ...item,
    providerOptions: { ...providerOptions, anthropic: { ...providerOptions?.['anthropic'], cacheControl: mark } },
  }
}

function canCarryMark(part: Part): boolean {
  return part.type === 'text' ? part.text.trim() !== '' : part.type !== 'reasoning'
}

function countMarks({ prompt, tools = [], providerOptions }: Markable): number {
  const onCall = Number(hasMark(providerOptions))
  const onTools = sum(tools, (tool) => Number(tool.type === 'function' && hasMark(tool.providerOptions)))
  return onCall + onTools + sum(prompt, marksOfMessage)
}

function marksOfMessage({ content, providerOptions }: LanguageModelV4Message): number {
  const onParts = typeof content === 'string' ? 0 : sum<Part>(content, marksOfPart)
  return Number(hasMark(providerOptions)) + onParts
}

function marksOfPart(part: Part): number {
  const output = part.type === 'tool-result' ? marksOfOutput(part.output) : 0
  return Number(hasMark(part.providerOptions)) + output
}

function marksOfOutput(output: LanguageModelV4ToolResultPart['output']): number {
  return output.type === 'content' ? sum(output.value, (item) => Number(hasMark(item.providerOptions))) : 0
}

/** The client accepts either spelling. */
function hasMark(options: SharedV4ProviderOptions | undefined): boolean {
  const { cacheControl, cache_control: snakeCased } = options?.['anthropic'] ?? {}
  return Boolean(cacheControl ?? snakeCased)
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0)
}
