import type { RawStep } from './raw-server.ts'

export type WireName = 'openai responses' | 'openai chat' | 'openai-compatible' | 'anthropic' | 'google'

/** Tokens as the wire reports them. `input` includes tokens read from and written to the cache. */
export interface RawUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

/** One part of an answer, independent of the wire. */
export type Piece =
  | { readonly type: 'text' | 'reasoning'; readonly deltas: readonly string[]; readonly half?: true }
  | { readonly type: 'call'; readonly call: RawCall; readonly deltas: readonly string[]; readonly half?: true }
  | { readonly type: 'finish'; readonly reason: RawReason; readonly usage: RawUsage | undefined }

export type RawReason = 'stop' | 'calls' | 'length'

export interface RawCall {
  readonly id: string
  readonly name: string
}

/** A block of text, one frame per delta. */
export const text = (...deltas: readonly string[]): Piece => ({ type: 'text', deltas })

/** A block of reasoning; OpenAI's chat wire does not support it. */
export const reasoning = (...deltas: readonly string[]): Piece => ({ type: 'reasoning', deltas })

/** A tool call with its arguments as JSON text. Google's wire sends a complete call in one frame. */
export const call = (id: string, name: string, ...deltas: readonly string[]): Piece => ({
  type: 'call',
  call: { id, name },
  deltas,
})

/** A block that never ends. On Google's wire, half a call has the deltas as the value of its argument `half`. */
export const half = (piece: Piece): Piece => (piece.type === 'finish' ? piece : { ...piece, half: true })

const usualUsage: RawUsage = { input: 12, output: 7 }

/** The end of the answer. Without usage, the wire omits it if possible. */
export const finish = (reason: RawReason = 'stop', usage: RawUsage | 'none' = usualUsage): Piece => ({
  type: 'finish',
  reason,
  usage: usage === 'none' ? undefined : usage,
})

/** One event of a stream, as a separate chunk. */
export const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** The body of a streamed answer: the opening, then the pieces. Gates and bytes are passed on unchanged. */
export function bodyOf(wire: WireName, ...steps: readonly (Piece | RawStep)[]): RawStep[] {
  const { opening, frames } = dialectOf(wire, steps.filter(isPiece))
  return [...opening, ...steps.flatMap((step): readonly RawStep[] => (isPiece(step) ? frames(step) : [step]))]
}

/** Like `bodyOf`, for an answer of pieces only. Returns its frames. */
export function textBodyOf(wire: WireName, ...pieces: readonly Piece[]): string[] {
  const { opening, frames } = dialectOf(wire, pieces)
  return [...opening, ...pieces.flatMap(frames)]
}

function dialectOf(wire: WireName, pieces: readonly Piece[]): Dialect {
  const last = pieces.find((piece) => piece.type === 'finish')
  return dialects[wire](last?.usage ?? usualUsage)
}

function isPiece(step: Piece | RawStep): step is Piece {
  return typeof step === 'object' && 'type' in step
}

interface Dialect {
  readonly opening: readonly string[]
  readonly frames: (piece: Piece) => readonly string[]
}

/** Starts a stream of each wire, with block numbers from 0. */
const dialects: Readonly<Record<WireName, (usage: RawUsage) => Dialect>> = {
  'openai responses': responsesDialect,
  'openai chat': chatDialect,
  'openai-compatible': chatDialect,
  anthropic: anthropicDialect,
  google: googleDialect,
}

function chatDialect(): Dialect {
  let calls = -1
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' }
  const delta = (fields: object, finishReason: string | null = null): string =>
    frame({ ...head, choices: [{ index: 0, delta: fields, finish_reason: finishReason }] })
  const argumentsDelta = (value: string): string => delta({ tool_calls: [{ index: calls, function: { arguments: value } }] })
  const reasons = { stop: 'stop', calls: 'tool_calls', length: 'length' } as const
  return {
    opening: [delta({ role: 'assistant', content: '' })],
    frames(piece) {
      switch (piece.type) {
        case 'text':
          return piece.deltas.map((content) => delta({ content }))
        case 'reasoning':
          return piece.deltas.map((value) => delta({ reasoning_content: value }))
        case 'call': {
          const { id, name } = piece.call
          const first = { index: ++calls, id, type: 'function', function: { name, arguments: '' } }
          return [delta({ tool_calls: [first] }), ...piece.deltas.map(argumentsDelta)]
        }
        case 'finish': {
          const usage = piece.usage && frame({ ...head, choices: [], usage: chatUsage(piece.usage) })
          return [delta({}, reasons[piece.reason]), ...(usage ? [usage] : []), frame('[DONE]')]
        }
      }
    },
  }
}

function chatUsage({ input, output, cacheRead, cacheWrite }: RawUsage): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
  }
}

function responsesDialect(): Dialect {
  let index = -1
  const event = (type: string, fields: object): string => frame({ type, ...fields }, type)
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-4o' }
  const item = (fields: object, deltas: readonly string[], isHalf = false): string[] => [
    event('response.output_item.added', { output_index: index, item: fields }),
    ...deltas,
    ...(isHalf ? [] : [event('response.output_item.done', { output_index: index, item: fields })]),
  ]
  return {
    opening: [event('response.created', { response })],
    frames(piece) {
      if (piece.type === 'finish') return [responsesEnd(piece, response, event)]
      index += 1
      const id = `item_${index}`
      const at = { item_id: id, output_index: index }
      switch (piece.type) {
        case 'text': {
          const deltas = piece.deltas.map((delta) => event('response.output_text.delta', { ...at, delta }))
          return item({ type: 'message', id, role: 'assistant', content: [] }, deltas, piece.half)
        }
        case 'reasoning': {
          const summary = { ...at, summary_index: 0 }
          const deltas = piece.deltas.map((delta) => event('response.reasoning_summary_text.delta', { ...summary, delta }))
          const added = event('response.reasoning_summary_part.added', { ...summary, part: { type: 'summary_text' } })
          return item({ type: 'reasoning', id, summary: [] }, [added, ...deltas], piece.half)
        }
        case 'call': {
          const { id: call_id, name } = piece.call
          const deltas = piece.deltas.map((delta) => event('response.function_call_arguments.delta', { ...at, delta }))
          const fields = { type: 'function_call', id, call_id, name }
          const [added = ''] = item({ ...fields, arguments: '', status: 'in_progress' }, [])
          const [, done = ''] = item({ ...fields, arguments: piece.deltas.join(''), status: 'completed' }, [])
          return [added, ...deltas, ...(piece.half ? [] : [done])]
        }
      }
    },
  }
}

function responsesEnd(
  { reason, usage }: Extract<Piece, { type: 'finish' }>,
  response: object,
  event: (type: string, fields: object) => string,
): string {
  const isCut = reason === 'length'
  const counts = usage && {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.output,
  }
  return event(isCut ? 'response.incomplete' : 'response.completed', {
    response: {
      ...response,
      status: isCut ? 'incomplete' : 'completed',
      incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
      usage: counts ?? null,
    },
  })
}

function anthropicDialect({ input, cacheRead, cacheWrite }: RawUsage): Dialect {
  let index = -1
  const event = (type: string, fields: object): string => frame({ type, ...fields }, type)
  const reasons = { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' } as const
  const usage = {
    input_tokens: input - (cacheRead ?? 0) - (cacheWrite ?? 0),
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: 1,
  }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage }
  const block = (start: object, deltas: readonly object[], isHalf = false): string[] => [
    event('content_block_start', { index, content_block: start }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    ...(isHalf ? [] : [event('content_block_stop', { index })]),
  ]
  return {
    opening: [event('message_start', { message })],
    frames(piece) {
      if (piece.type === 'finish') {
        const delta = { stop_reason: reasons[piece.reason], stop_sequence: null }
        const counts = { output_tokens: piece.usage?.output ?? 1 }
        return [event('message_delta', { delta, usage: counts }), event('message_stop', {})]
      }
      index += 1
      switch (piece.type) {
        case 'text': {
          const deltas = piece.deltas.map((value) => ({ type: 'text_delta', text: value }))
          return block({ type: 'text', text: '' }, deltas, piece.half)
        }
        case 'reasoning': {
          const deltas = piece.deltas.map((thinking) => ({ type: 'thinking_delta', thinking }))
          return block({ type: 'thinking', thinking: '', signature: '' }, deltas, piece.half)
        }
        case 'call': {
          const deltas = piece.deltas.map((json) => ({ type: 'input_json_delta', partial_json: json }))
          return block({ type: 'tool_use', ...piece.call, input: {} }, deltas, piece.half)
        }
      }
    },
  }
}

function googleDialect(): Dialect {
  const candidate = (parts: readonly object[], more: object = {}, counts: object = {}): string =>
    frame({ candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }], ...counts })
  const reasons = { stop: 'STOP', calls: 'STOP', length: 'MAX_TOKENS' } as const
  return {
    opening: [],
    frames(piece) {
      switch (piece.type) {
        case 'text':
          return piece.deltas.map((value) => candidate([{ text: value }]))
        case 'reasoning':
          return piece.deltas.map((value) => candidate([{ text: value, thought: true }]))
        case 'call': {
          const frameOf = (functionCall: object): string => candidate([{ functionCall }])
          if (!piece.half) return [frameOf({ ...piece.call, args: JSON.parse(piece.deltas.join('')) as unknown })]
          const partial = piece.deltas.map((stringValue) =>
            frameOf({
              partialArgs: [{ jsonPath: '$.half', stringValue, willContinue: true }],
              willContinue: true,
            }),
          )
          return [frameOf({ ...piece.call, willContinue: true }), ...partial]
        }
        case 'finish': {
          const finishReason = reasons[piece.reason]
          return [candidate([], { finishReason }, piece.usage && { usageMetadata: googleUsage(piece.usage) })]
        }
      }
    },
  }
}

function googleUsage({ input, output, cacheRead }: RawUsage): object {
  return {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
    cachedContentTokenCount: cacheRead,
  }
}
