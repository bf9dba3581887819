import type { ErrorKind } from '../model-error.ts'
import { lookUp } from './codes.ts'

/** Kind that the code or class of an error determines. */
export interface NamedKind {
  readonly kind: ErrorKind
  readonly retryable?: false
  /** The code, if it determined the kind. */
  readonly code?: string
}

const classes: Readonly<Record<string, ErrorKind>> = {
  AbortError: 'network',
  TimeoutError: 'timeout',
  AI_LoadAPIKeyError: 'config',
  AI_LoadSettingError: 'config',
  AI_NoSuchModelError: 'config',
  AI_NoSuchProviderReferenceError: 'config',
  AI_UnsupportedFunctionalityError: 'config',
  AI_UnsupportedModelVersionError: 'config',
  AI_InvalidArgumentError: 'config',
  AI_InvalidPromptError: 'config',
  LlmError: 'config',
  AI_JSONParseError: 'malformed-response',
  AI_TypeValidationError: 'malformed-response',
  AI_InvalidResponseDataError: 'malformed-response',
  AI_EmptyResponseBodyError: 'empty-response',
  AI_NoContentGeneratedError: 'empty-response',
}

/** Codes of systems, sockets and fetch libraries. The order matters: certificate errors come first, because a retry cannot fix them. */
const codes: readonly (readonly [pattern: RegExp, named: NamedKind])[] = [
  [/CERT|^UNABLE_TO_(?:GET|VERIFY)|HOSTNAME_MISMATCH|UNKNOWN_CA|^INVALID_CA$/, { kind: 'network', retryable: false }],
  [/^ETIMEDOUT$|^UND_ERR_\w+_TIMEOUT$/, { kind: 'timeout' }],
  [/^ERR_STREAM_PREMATURE_CLOSE$/, { kind: 'stream-broken' }],
  [/^ECONN[A-Z]+$|^(?:EPIPE|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EPROTO)$|^EAI_[A-Z]+$/, { kind: 'network' }],
  [/^UND_ERR_(?:SOCKET|CONNECT)$|^ERR_(?:SSL|TLS)_\w+$/, { kind: 'network' }],
  [/^(?:ConnectionRefused|ConnectionClosed|FailedToOpenSocket)$/, { kind: 'network' }],
]

export function kindOfName(code: string | undefined, name: string | undefined): NamedKind | undefined {
  const named = code === undefined ? undefined : codes.find(([pattern]) => pattern.test(code))?.[1]
  if (code !== undefined && named) return { ...named, code }
  const kind = lookUp(classes, code) ?? lookUp(classes, name)
  return kind && { kind }
}

const disconnected =
  /^(?:fetch failed|failed to fetch|load failed|network ?(?:error|request failed)\b.*|socket hang up|error (?:sending request|reading a body|in input stream)\b.*|the (?:network|internet) connection .*|could not connect to the server\.?)$/i

/** Matches messages of runtimes for a failed connection without a code. */
export function isDisconnected(message: string): boolean {
  return disconnected.test(message)
}

const bugs = /^(?:Type|Reference|Range)Error$/

/**
 * Returns whether errors of this class come only from bugs. `fetch` throws a `TypeError` too, but its message, code and causes are
 * checked before. `SyntaxError` is not included: parsing a response throws it.
 */
export function isBug(name: string | undefined): boolean {
  return name !== undefined && bugs.test(name)
}

const broken = /^(?:terminated|premature close|failed to process successful response|.* ended without a finish reason\.)$/i

/** Matches messages of runtimes and clients for a response that began but did not end. */
export function isBrokenStream(message: string): boolean {
  return broken.test(message)
}
