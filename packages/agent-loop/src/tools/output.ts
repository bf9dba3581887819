import type { ContentItem, JSONValue, ToolOutput } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { copyJson, isRecord } from '../base/json.ts'
import { isContentPart, isToolOutput } from '../base/messages.ts'
import type { ToolChunk, ToolReturnValue } from '../contract/tool.ts'

/**
 * A string becomes text, content and a list of content parts become content, other JSON becomes json. Throws `NotJsonError` if
 * `output` is not JSON; `at` is its path.
 */
export function outputOf(output: unknown, isError: boolean, at?: readonly string[]): ToolOutput {
  const value = copyJson(output, at)
  if (typeof value === 'string') return { type: isError ? 'error-text' : 'text', value }
  if (isContent(value) && !isError) return value
  if (isPartList(value) && !isError) return { type: 'content', value }
  return { type: isError ? 'error-json' : 'json', value }
}

/** Checks the result of a tool's own `toModelOutput`. Throws if it has none of the six shapes. */
export function modelOutputOf(given: unknown): ToolOutput {
  const output = copyJson(given)
  if (!isToolOutput(output)) throw new TypeError(`toModelOutput must return a tool output; received ${describeValue(output)}`)
  return output
}

/** Cuts a longer output to its head and tail. */
export function capOutput(output: ToolOutput, maxCharacters: number): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...output, value: cutMiddle(output.value, maxCharacters) }
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value)
      if (text.length <= maxCharacters) return output
      return { type: output.type === 'json' ? 'text' : 'error-text', value: cutMiddle(text, maxCharacters) }
    }
    case 'content':
      return { ...output, value: capContent(output.value, maxCharacters) }
    case 'execution-denied':
      return output.reason === undefined ? output : { ...output, reason: cutMiddle(output.reason, maxCharacters) }
    default:
      return output satisfies never
  }
}

export function cutMiddle(text: string, maxCharacters: number): string {
  const left = text.length - maxCharacters
  if (left <= 0) return text
  const tail = Math.floor(maxCharacters / 2)
  const head = text.slice(0, maxCharacters - tail)
  return `${head}\n[… ${left} characters left out …]\n${text.slice(text.length - tail)}`
}

function capContent(items: readonly ContentItem[], maxCharacters: number): readonly ContentItem[] {
  let room = maxCharacters
  return items.map((item) => {
    if (item.type !== 'text') return item
    const text = cutMiddle(item.text, room)
    room = Math.max(0, room - item.text.length)
    return { ...item, text }
  })
}

/** Any other value of type `content` is plain JSON. */
function isContent(value: JSONValue): value is JSONValue & { type: 'content'; value: ContentItem[] } {
  return isRecord(value) && value['type'] === 'content' && Object.keys(value).length === 2 && isToolOutput(value)
}

const partKeys = ['type', 'text', 'mediaType', 'filename', 'data', 'providerOptions']

/** A list with any other item in it is plain JSON. */
function isPartList(value: unknown): value is readonly ContentItem[] {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((item) => isContentPart(item) && Object.keys(item).every((key) => partKeys.includes(key)))
}

const returnKeys = ['output', 'details', 'isError', 'terminate']

/** Returns whether a tool returned `{ output, … }`. With a key besides these, an object is JSON for the model. */
export function isReturnValue(returned: unknown): returned is ToolReturnValue {
  return isRecord(returned) && 'output' in returned && Object.keys(returned).every((key) => returnKeys.includes(key))
}

export function isGenerator(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Takes a delta of a running call. Returns false once the call has its outcome: later deltas are dropped. */
export type Emit = (delta: string, replace?: true) => boolean

/**
 * Reads a generator and passes its deltas to the readers of the run. Returns the generator's return value, its `complete` chunk, or
 * else all its deltas; undefined if it has none.
 */
export async function drainGenerator(generator: AsyncIterable<unknown>, emit: Emit): Promise<unknown> {
  const chunks = generator[Symbol.asyncIterator]() as AsyncIterator<unknown, unknown>
  let text: string | undefined
  for (;;) {
    const { done, value } = await chunks.next()
    if (done) return value === undefined ? text : value
    const chunk = chunkOf(value)
    if (chunk?.type === 'delta') {
      text = chunk.replace ? chunk.delta : (text ?? '') + chunk.delta
      if (emit(chunk.delta, chunk.replace)) continue
    }
    // The generator is done: it gave its output or an invalid chunk, or the call has its outcome already.
    await chunks.return?.()
    if (!chunk) throw new TypeError('a tool must yield texts, deltas or its complete output')
    if (chunk.type === 'delta') return text
    const { type: _type, ...complete } = chunk
    if (!isReturnValue(complete))
      throw new TypeError('a complete chunk must have output, and beside it only details, isError and terminate')
    return complete
  }
}

type Chunk = Exclude<ToolChunk, string>

function chunkOf(value: unknown): Chunk | undefined {
  if (typeof value === 'string') return { type: 'delta', delta: value }
  if (!isRecord(value)) return undefined
  const isChunk = value['type'] === 'complete' || (value['type'] === 'delta' && typeof value['delta'] === 'string')
  return isChunk ? (value as unknown as Chunk) : undefined
}
