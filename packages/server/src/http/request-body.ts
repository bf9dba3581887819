import type { Limits } from '../limits.ts'
import { faulty, ProblemError } from '../problems.ts'

type BodyLimits = Required<Pick<Limits, 'bodyBytes' | 'jsonDepth' | 'jsonKeys'>>

const jsonType = /^application\/json\s*(;|$)/i

/** Reads a JSON body. The content type excludes forms. Limits are checked before the body is parsed or traversed. */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  if (!jsonType.test(request.headers.get('content-type') ?? '')) {
    throw new ProblemError('unsupported-media-type', 'Send content-type: application/json.')
  }
  const value = parse(await readBytes(request, limits.bodyBytes))
  checkShape(value, limits)
  return value
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit)
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body?.getReader()
  for (;;) {
    const { done, value } = await nextChunk(reader)
    if (done) break
    length += value.length
    if (length > limit) {
      reader?.releaseLock()
      throw tooLarge(limit)
    }
    chunks.push(value)
  }
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

type Chunk = { readonly done: true; readonly value?: undefined } | { readonly done: false; readonly value: Uint8Array }

async function nextChunk(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<Chunk> {
  if (!reader) return { done: true }
  try {
    const { done, value } = await reader.read()
    return done ? { done } : { done, value }
  } catch (cause) {
    throw new ProblemError('invalid-body', 'The body ended early.', { cause })
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalid('', 'The body must be JSON in UTF-8.')
  }
}

/** A value of the body, with its name in the value that holds it. A key of an object is checked under the name of the object. */
interface Place {
  readonly value: unknown
  readonly depth: number
  readonly name?: string | number
  readonly holder?: Place
}

/** Traverses without recursion, because the depth itself is being checked. */
function checkShape(root: unknown, { jsonDepth, jsonKeys }: BodyLimits): void {
  const open: Place[] = [{ value: root, depth: 1 }]
  let keys = 0
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value, depth } = place
    if (typeof value === 'string' && !value.isWellFormed()) {
      throw invalid(pathOf(place), 'Text must be whole Unicode characters. Remove each half of a surrogate pair, or send U+FFFD instead.')
    }
    if (typeof value !== 'object' || value === null) continue
    if (depth > jsonDepth) throw invalid('', `The body must not be nested deeper than ${jsonDepth}.`)
    if (Object.hasOwn(value, '__proto__')) throw invalid('__proto__', 'This key is not allowed.')
    const isList = Array.isArray(value)
    const fields = Object.entries(value)
    keys += fields.length
    if (keys > jsonKeys) throw invalid('', `The body must not have more than ${jsonKeys} keys and items.`)
    for (const [name, child] of fields) {
      open.push({ value: child, depth: depth + 1, name: isList ? Number(name) : name, holder: place })
      if (!name.isWellFormed()) open.push({ ...place, value: name })
    }
  }
}

/** Returns the path of a value as errors name it, such as `input.content[0].text`. */
function pathOf({ name, holder }: Place): string {
  if (name === undefined || !holder) return ''
  const above = pathOf(holder)
  if (typeof name === 'number') return `${above}[${name}]`
  return above === '' ? name : `${above}.${name}`
}

function invalid(path: string, message: string): ProblemError {
  return faulty('invalid-body', [{ path, message }])
}

function tooLarge(limit: number): ProblemError {
  return new ProblemError('body-too-large', `A body may have at most ${limit} bytes.`)
}
