import fc from 'fast-check'
import type { LanguageModelV4StreamPart } from '../../src/index.ts'
import { brokenValue, metadata, oddText, oddValue } from './values.ts'

type Parts = readonly LanguageModelV4StreamPart[]

const id = fc.constantFrom('a', 'b', 'c', '__proto__', 'a~2')
const toolName = fc.constantFrom('weather', 'search', 'toString')
const flag = fc.constantFrom(undefined, true, false)

/** Removes the keys that are `undefined`, because providers do not send them. */
const partOf = (fields: object): LanguageModelV4StreamPart =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as LanguageModelV4StreamPart

const argumentText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
      .map((input) => JSON.stringify(input)),
  },
  fc.constantFrom('', '  ', '{', '[1]', '"text"', 'null', '7', '{"a":1e999,"b":-0}', '{"__proto__":{"a":1}}', '{"a":1}{'),
  oddText(12),
)

/** The text, split anywhere, also inside surrogate pairs and into empty pieces. */
const cutText = (text: fc.Arbitrary<string>): fc.Arbitrary<{ readonly whole: string; readonly pieces: readonly string[] }> =>
  fc.tuple(text, fc.array(fc.nat(12), { maxLength: 4 })).map(([whole, cuts]) => {
    const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length]
    return { whole, pieces: places.slice(1).map((end, place) => whole.slice(places[place], end)) }
  })

function textBlock(kind: 'text' | 'reasoning'): fc.Arbitrary<Parts> {
  const citations = fc.constantFrom(undefined, undefined, [], [{ type: 'citation', text: 'quoted' }])
  return fc
    .tuple(id, cutText(oddText(12)), metadata, metadata, metadata, citations)
    .map(([block, { pieces }, first, middle, last, cited]) => [
      partOf({ type: `${kind}-start`, id: block, providerMetadata: first }),
      ...pieces.map((delta, place) =>
        partOf({ type: `${kind}-delta`, id: block, delta, providerMetadata: place === 1 ? middle : undefined }),
      ),
      partOf({
        type: `${kind}-end`,
        id: block,
        providerMetadata: last,
        citations: kind === 'text' ? cited : undefined,
      }),
    ])
}

const toolCall: fc.Arbitrary<Parts> = fc
  .record({
    call: id,
    name: toolName,
    input: cutText(argumentText),
    facts: fc.record({ providerExecuted: flag, dynamic: flag }),
    said: fc.record({ start: metadata, end: metadata, call: metadata }),
    inputEncoding: fc.constantFrom(undefined, 'json', 'text'),
    shown: fc.constantFrom('deltas', 'deltas', 'whole', 'without call'),
  })
  .map(({ call, name, input: { whole, pieces }, facts, said, inputEncoding, shown }) => {
    const head = partOf({
      type: 'tool-input-start',
      id: call,
      toolName: name,
      inputEncoding,
      ...facts,
      providerMetadata: said.start,
    })
    const deltas = pieces.map((delta) => partOf({ type: 'tool-input-delta', id: call, delta }))
    const foot = partOf({ type: 'tool-input-end', id: call, providerMetadata: said.end })
    const last = partOf({
      type: 'tool-call',
      toolCallId: call,
      toolName: name,
      input: whole,
      ...facts,
      providerMetadata: said.call,
    })
    if (shown === 'whole') return [last]
    return shown === 'deltas' ? [head, ...deltas, foot, last] : [head, ...deltas, foot]
  })

const providerResults: fc.Arbitrary<Parts> = fc
  .tuple(id, toolName, fc.array(oddValue, { maxLength: 2 }), oddValue, flag, metadata)
  .map(([call, name, preliminary, result, isError, providerMetadata]) => [
    ...preliminary.map((early) => partOf({ type: 'tool-result', toolCallId: call, toolName: name, result: early ?? 0, preliminary: true })),
    partOf({ type: 'tool-result', toolCallId: call, toolName: name, result: result ?? 0, isError, providerMetadata }),
  ])

const fileData = fc.oneof(
  fc.uint8Array({ maxLength: 5 }).map((data) => ({ type: 'data', data })),
  fc.constantFrom({ type: 'data', data: 'aGk=' }, { type: 'url', url: new URL('https://example.test/a%20b.png') }),
)

const wholePart: fc.Arbitrary<Parts> = fc
  .oneof(
    fc.record({
      type: fc.constantFrom('file', 'reasoning-file'),
      mediaType: fc.constant('image/png'),
      data: fileData,
      providerMetadata: metadata,
    }),
    fc.record({
      type: fc.constant('source'),
      sourceType: fc.constant('url'),
      id,
      url: fc.constant('https://example.test/'),
      title: fc.constantFrom(undefined, 'A'),
      providerMetadata: metadata,
    }),
    fc.record({
      type: fc.constant('source'),
      sourceType: fc.constant('document'),
      id,
      mediaType: fc.constant('text/plain'),
      title: fc.constant('B'),
      filename: fc.constantFrom(undefined, 'b.txt'),
      providerMetadata: metadata,
    }),
    fc.record({
      type: fc.constant('custom'),
      kind: fc.constantFrom('acme.note', 'openai.compaction'),
      providerMetadata: metadata,
    }),
    fc.record({
      type: fc.constant('tool-approval-request'),
      approvalId: id,
      toolCallId: id,
      providerMetadata: metadata,
    }),
  )
  .map((fields) => [partOf(fields)])

/** Parts without content, including unknown types. */
const noise: fc.Arbitrary<Parts> = fc
  .constantFrom<object>(
    { type: 'ping' },
    { type: 'raw', rawValue: { any: [1] } },
    { type: 'stream-start', warnings: [] },
    { type: 'stream-start', warnings: [{ type: 'other', message: 'careful' }] },
    { type: 'response-metadata', id: 'r', modelId: 'm', timestamp: new Date(0) },
    { type: 'hologram' },
    { type: 'constructor' },
  )
  .map((fields) => [partOf(fields)])

/** A block: parts that belong together, in order. */
const block: fc.Arbitrary<Parts> = fc.oneof(textBlock('text'), textBlock('reasoning'), toolCall, providerResults, wholePart, noise)

const reported = fc.oneof({ weight: 3, arbitrary: fc.nat(10_000) }, fc.constant(undefined))

const usage = (count: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.record({
    inputTokens: fc.record({ total: count, noCache: count, cacheRead: count, cacheWrite: count }),
    outputTokens: fc.record({ total: count, text: count, reasoning: count }),
    raw: fc.constantFrom(undefined, { any: 1 }),
  })

const unified = fc.constantFrom('stop', 'stop', 'length', 'tool-calls', 'content-filter', 'error', 'other', 'interrupted')
const raw = fc.constantFrom(
  undefined,
  'stop',
  'end_turn',
  'pause_turn',
  'compaction',
  'MALFORMED_FUNCTION_CALL',
  'model_context_window_exceeded',
)

/** The end of an answer, possibly with invalid numbers. */
const finish: fc.Arbitrary<LanguageModelV4StreamPart> = fc
  .tuple(
    fc.record({ unified, raw }),
    usage(fc.oneof(reported, reported, fc.constantFrom(NaN, -1, 1.5, Infinity, null, '7', 2 ** 53))),
    metadata,
  )
  .map(([finishReason, counts, providerMetadata]) => partOf({ type: 'finish', finishReason, usage: counts, providerMetadata }))

/** Malformed parts as in L9, and errors of the provider. */
const failing: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(
  'text',
  null,
  undefined,
  7,
  [],
  { id: 'a' },
  { type: 7 },
  { type: 'text-delta', id: 'a', delta: 7 },
  { type: 'reasoning-delta', id: 'a' },
  { type: 'tool-input-delta', id: 'a', delta: null },
  { type: 'tool-call', toolCallId: '', toolName: 'x', input: '{}' },
  { type: 'tool-call', toolCallId: 'a', input: '{}' },
  { type: 'tool-call', toolCallId: 'a', toolName: 'x', input: {} },
  { type: 'tool-input-start', id: 'a' },
  { type: 'tool-input-start', toolName: 'x' },
  { type: 'error', error: new Error('from inside') },
  { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
  { type: 'error', error: undefined },
)

/** Interleaved blocks. Each keeps its own order; `turns` selects whose part comes next. */
const interleaved: fc.Arbitrary<unknown[]> = fc
  .tuple(fc.array(block, { maxLength: 5 }), fc.array(fc.nat(7), { maxLength: 24 }))
  .map(([blocks, turns]) => {
    const waiting = blocks.map((parts) => [...parts]).filter((parts) => parts.length > 0)
    const parts: unknown[] = []
    for (let turn = 0; waiting.length > 0; turn++) {
      const place = (turns[turn] ?? 0) % waiting.length
      parts.push(waiting[place]?.shift())
      if (waiting[place]?.length === 0) waiting.splice(place, 1)
    }
    return parts
  })

/** Valid parts, except that ids may collide. */
export const orderlyParts: fc.Arbitrary<unknown[]> = fc.tuple(interleaved, finish).map(([parts, last]) => [...parts, last])

/** Parts of valid shapes in any order: some lost, some duplicated, some after the end, with failures between them. */
export const disorderlyParts: fc.Arbitrary<unknown[]> = fc
  .tuple(
    interleaved,
    fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 4 }),
    fc.array(
      fc.tuple(
        fc.nat(30),
        fc.oneof(
          finish,
          failing,
          interleaved.map((parts) => parts[0] ?? { type: 'ping' }),
        ),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([parts, moves, added]) => {
    const result = [...parts]
    for (const [from, to] of moves) if (from < result.length) result.splice(to, to % 3, result[from])
    for (const [place, part] of added) result.splice(place, 0, part)
    return result
  })

/** Parts with fields that violate the contract. */
export const brokenParts: fc.Arbitrary<unknown[]> = fc
  .tuple(fc.oneof(orderlyParts, disorderlyParts), fc.array(fc.tuple(fc.nat(30), fc.nat(8), brokenValue), { minLength: 1, maxLength: 3 }))
  .map(([parts, breaks]) => {
    const result = [...parts]
    const broken = new Set<number>()
    for (const [place, field, value] of breaks) {
      if (broken.has(place)) continue
      if (place >= result.length) broken.add(result.push(value) - 1)
      else result[place] = withField(result[place], field, value)
      broken.add(place)
    }
    return result
  })

function withField(part: unknown, place: number, value: unknown): unknown {
  if (typeof part !== 'object' || part === null) return value
  const keys = Object.keys(part)
  const key = keys[place % (keys.length + 1)] ?? 'providerMetadata'
  return Object.defineProperty({ ...part }, key, { value, enumerable: true })
}
