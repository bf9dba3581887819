import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { isRecord, needed } from '../arguments.ts'
import { check, checkItems, fieldsOf } from '../check.ts'

export type CachePlace = 'tools' | 'instructions' | 'messages'

/**
 * Up to where the provider keeps the prompt, so that the next call need not read it again. `auto`: the instructions
 * (without any the tools) and the messages. `ttl` is how long it is kept; default: what the provider does.
 */
export type CacheMarks = 'off' | 'auto' | { readonly at: readonly CachePlace[]; readonly ttl?: '5m' | '1h' }

/** Throws `LlmError` for marks at no place. */
export function checkCacheMarks(cache: unknown): void {
  if (cache === undefined || cache === 'off' || cache === 'auto') return
  check.checkRequired('cache', cache, 'off, auto or { at }', isRecord)
  const { at, ttl } = fieldsOf('cache', cache, ['at', 'ttl'])
  check.checkRequired('cache.at', at, 'a list of places', Array.isArray)
  checkItems('cache.at', at, (path, place) => check.checkOneOf(path, needed(place), placesByWorth))
  check.checkOneOf('cache.ttl', ttl, ['5m', '1h'])
}

type Markable = Pick<LanguageModelV4CallOptions, 'prompt' | 'tools' | 'providerOptions'>
type Part = Exclude<LanguageModelV4Message['content'], string>[number]
type Mark = { readonly type: 'ephemeral'; readonly ttl?: '5m' | '1h' }

const mostMarks = 4

/** Where marks are set when not all have room: what ends last holds the most. */
const placesByWorth: readonly CachePlace[] = ['messages', 'instructions', 'tools']

/**
 * Sets the marks that Anthropic reads. Those that the caller set stay, count, and make a second one at their place
 * needless. What is given is not changed.
 */
export function withCacheMarks<T extends Markable>(call: T, cache: CacheMarks = 'off'): T {
  if (cache === 'off') return call
  const places = cache === 'auto' ? automaticPlaces(call) : cache.at
  const mark: Mark = { type: 'ephemeral', ...(cache !== 'auto' && cache.ttl && { ttl: cache.ttl }) }
  let marked = call
  let room = mostMarks - countMarks(call)
  for (const place of placesByWorth) {
    if (room <= 0 || !places.includes(place)) continue
    const added = setMark[place](marked, mark)
    if (!added) continue
    marked = { ...marked, ...added }
    room--
  }
  return marked
}

function automaticPlaces({ prompt }: Markable): readonly CachePlace[] {
  return prompt.some(({ role }) => role === 'system') ? ['instructions', 'messages'] : ['tools', 'messages']
}

/** Nothing comes back where there is nothing to mark, or where a mark stands already. */
const setMark: Readonly<Record<CachePlace, (call: Markable, mark: Mark) => Partial<Markable> | undefined>> = {
  tools({ tools = [] }, mark) {
    // Tools that the provider runs carry no options; those whose loading is deferred are no part of the prefix.
    const place = tools.findLastIndex(
      (tool) => tool.type === 'function' && !tool.providerOptions?.['anthropic']?.['deferLoading'],
    )
    const tool = tools[place]
    if (tool?.type !== 'function' || hasMark(tool.providerOptions)) return undefined
    return { tools: tools.with(place, marked(tool, mark)) }
  },
  instructions({ prompt }, mark) {
    const place = prompt.findLastIndex(({ role }) => role === 'system')
    const message = prompt[place]
    if (!message || hasMark(message.providerOptions)) return undefined
    return { prompt: prompt.with(place, marked(message, mark)) }
  },
  messages({ prompt }, mark) {
    const message = prompt.at(-1)
    if (!message || message.role === 'system' || hasMark(message.providerOptions)) return undefined
    const content: readonly Part[] = message.content
    const place = content.findLastIndex(canCarryMark)
    const part = content[place]
    if (!part || marksOfPart(part) > 0) return undefined
    const markedMessage = { ...message, content: content.with(place, marked(part, mark)) } as LanguageModelV4Message
    return { prompt: prompt.with(-1, markedMessage) }
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

/** The client reads either spelling. */
function hasMark(options: SharedV4ProviderOptions | undefined): boolean {
  const { cacheControl, cache_control: snakeCased } = options?.['anthropic'] ?? {}
  return Boolean(cacheControl ?? snakeCased)
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0)
}
