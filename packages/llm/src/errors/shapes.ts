import { field, isRecord } from '../json.ts'

/** What an error says about itself, read out of the shape in which its provider says it. */
export interface ErrorFacts {
  readonly message: string
  readonly name?: string | undefined
  /** HTTP status, 3xx to 5xx only: a success status on an error says nothing. */
  readonly status?: number | undefined
  /** `code`, `type` and `param` of OpenAI's shape; `type` is also Anthropic's. */
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly param?: string | undefined
  /** Google's status word, such as `RESOURCE_EXHAUSTED`, and its details. */
  readonly statusWord?: string | undefined
  readonly details: readonly Record<string, unknown>[]
  readonly headers: Readonly<Record<string, string>>
  readonly requestId?: string | undefined
}

/** Reads any thrown value. Fields that cannot be read count as absent. */
export function readFacts(error: unknown): ErrorFacts {
  const payload = payloadOf(error)
  const text = (key: string): string | undefined => textOf(field(payload, key)) ?? textOf(field(error, key))
  const headers = headersOf(field(error, 'responseHeaders') ?? field(error, 'headers'))
  const details = field(payload, 'details')
  return {
    message: messageOf(error, payload),
    name: textOf(field(error, 'name')),
    status: statusOf(error, payload),
    code: text('code'),
    type: textOf(field(payload, 'type')) ?? textOf(field(error, 'type')),
    param: text('param'),
    statusWord: textOf(field(payload, 'status')),
    details: Array.isArray(details) ? details.filter(isRecord) : [],
    headers,
    requestId: headers['x-request-id'] ?? headers['request-id'] ?? textOf(field(bodyOf(error), 'request_id')),
  }
}

/** The object with the error's own fields: the body's `error`, a failed response's `error`, or the body. */
function payloadOf(error: unknown): unknown {
  const body = bodyOf(error)
  const nested = [field(body, 'error'), field(field(body, 'response'), 'error')]
  return nested.find(isRecord) ?? (typeof field(body, 'error') === 'string' ? { message: field(body, 'error') } : body)
}

function bodyOf(error: unknown): unknown {
  const text = typeof error === 'string' ? error : field(error, 'responseBody')
  const body = [field(error, 'data'), parseJson(text), error].find(
    (value) => typeof value === 'object' && value !== null,
  )
  return Array.isArray(body) ? (body as unknown[])[0] : body
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
  // HTML and JSON are for the other readers; any other text is what the server wanted to say.
  if (typeof body === 'string' && /^\s*[^\s<[{]/.test(body)) return body
  const said = [field(payload, 'message'), field(payload, 'detail'), field(error, 'message')].map(textOf).find(Boolean)
  return said ?? (typeof error === 'object' && error !== null ? 'unknown error' : String(error))
}

function statusOf(error: unknown, payload: unknown): number | undefined {
  const given = [
    field(error, 'statusCode'),
    field(error, 'status'),
    field(payload, 'code'),
    field(payload, 'status_code'),
  ]
  return given.find((status): status is number => typeof status === 'number' && status >= 300 && status < 600)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function headersOf(headers: unknown): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : isRecord(headers) ? Object.entries(headers) : []
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), value]))
}
