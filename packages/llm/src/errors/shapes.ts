import { isRecord } from '../arguments.ts'
import { field } from '../json.ts'

/** Facts of an error, read from the shape that its provider uses. */
export interface ErrorFacts {
  readonly message: string
  readonly name?: string | undefined
  /** HTTP status from 300 to 599. A success status on an error means nothing. */
  readonly status?: number | undefined
  /** Whether the error came inside an accepted stream, where the status is only a guess of the client. */
  readonly inStream: boolean
  /** `code`, `type` and `param` as in OpenAI's shape; Anthropic also uses `type`. */
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly param?: string | undefined
  /** Google's status word, such as `RESOURCE_EXHAUSTED`, and its details. */
  readonly statusWord?: string | undefined
  readonly details: readonly Record<string, unknown>[]
  /** All structured words that may determine the kind, most exact first. */
  readonly words: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly requestId?: string | undefined
}

/** Above the length of real messages. It bounds the search for phrases, for example in an HTML page. */
const longestMessage = 10_000

/** Reads any thrown value. Unreadable fields count as absent. */
export function readFacts(error: unknown): ErrorFacts {
  const body = bodyOf(error)
  const payload = payloadOf(body)
  const text = (key: string): string | undefined => textOf(field(payload, key)) ?? textOf(field(error, key))
  const headers = headersOf(field(error, 'responseHeaders') ?? field(error, 'headers'))
  const code = text('code')
  const type = text('type')
  const statusWord = textOf(field(payload, 'status'))
  const details = listOf(field(payload, 'details')).filter(isRecord)
  return {
    message: messageOf(error, payload).slice(0, longestMessage),
    name: textOf(field(error, 'name')),
    status: statusOf(error, payload),
    inStream: isInStream(error, headers),
    code,
    type,
    param: text('param'),
    statusWord,
    details,
    words: [
      code,
      field(field(payload, 'innererror'), 'code'),
      field(field(payload, 'details'), 'error_code'),
      ...details.map((detail) => detail['reason']),
      type,
      field(body, 'error_type'),
      headers['x-amzn-errortype']?.split(':')[0],
      isBlocked(body) ? 'blockReason' : undefined,
      statusWord,
    ].flatMap((word) => textOf(word) ?? []),
    headers,
    requestId: headers['x-request-id'] ?? headers['request-id'] ?? textOf(field(body, 'request_id')),
  }
}

/** Prefers the response text to the client's parsed data, because clients drop unknown fields. */
function bodyOf(error: unknown): unknown {
  const text = typeof error === 'string' ? error : field(error, 'responseBody')
  const said = [parseJson(text), field(error, 'data'), parseJson(field(error, 'message'))]
  return firstOf(said.find((value) => typeof value === 'object' && value !== null) ?? error)
}

/** Returns the object with the error's own fields: `error` of the body, `error` of a failed response, or the body. */
function payloadOf(body: unknown): unknown {
  const nested = [field(body, 'error'), field(field(body, 'response'), 'error')]
  const payload = nested.find(isRecord)
  if (!payload) return typeof field(body, 'error') === 'string' ? { message: field(body, 'error') } : body
  // Gateways wrap the response of the underlying provider as text.
  const wrapped = parseJson(field(payload, 'message')) ?? parseJson(field(field(payload, 'metadata'), 'raw'))
  const inner = field(firstOf(wrapped), 'error')
  return isRecord(inner) ? inner : payload
}

/** Returns the first item of a list, because Google answers with a list of one. */
function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? (value as unknown[])[0] : value
}

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function messageOf(error: unknown, payload: unknown): string {
  const body = typeof error === 'string' ? error : field(error, 'responseBody')
  // HTML and JSON are parsed elsewhere. Any other text is the server's message.
  if (typeof body === 'string' && /^\s*[^\s<[{]/.test(body)) return body
  const complaints = listOf(field(payload, 'detail')).map((complaint) => field(complaint, 'msg'))
  const said = [field(payload, 'message'), field(payload, 'detail'), ...complaints, field(error, 'message')]
  return said.map(textOf).find(Boolean) ?? titleOf(body) ?? plainText(error)
}

/** Returns the title of an HTML page, which describes the error even if HTTP/2 has dropped the status text. */
function titleOf(body: unknown): string | undefined {
  // A single bounded run of text. With more freedom for its start and end, a page of spaces would take minutes.
  const title = typeof body === 'string' ? /<title>([^<]{1,500})<\/title>/i.exec(body)?.[1] : undefined
  return textOf(title?.trim())
}

function plainText(error: unknown): string {
  return typeof error === 'object' && error !== null ? 'unknown error' : String(error)
}

function statusOf(error: unknown, payload: unknown): number | undefined {
  const given = [field(error, 'statusCode'), field(error, 'status'), field(payload, 'code'), field(payload, 'status_code')]
  return given
    .map((status) => (typeof status === 'string' && /^\d{3}$/.test(status) ? Number(status) : status))
    .find((status): status is number => typeof status === 'number' && status >= 300 && status < 600)
}

const streamErrorMarker = Symbol.for('vercel.ai.providerStreamError')

function isInStream(error: unknown, headers: Readonly<Record<string, string>>): boolean {
  if (headers['content-type']?.startsWith('text/event-stream')) return true
  return typeof error === 'object' && error !== null && streamErrorMarker in error
}

function isBlocked(body: unknown): boolean {
  return textOf(field(field(body, 'promptFeedback'), 'blockReason')) !== undefined
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function headersOf(headers: unknown): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : isRecord(headers) ? Object.entries(headers) : []
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), value]))
}
