import type { IncomingMessage } from 'node:http'
import { systemClock, type Clock } from '@bowline/llm'
import type { FieldChecks } from '@bowline/llm/arguments'
import { loadGuardedRequest, parseRanges, type AddressRefusal, type GuardOptions } from '@bowline/sessions/internal'
import { configChecks, longestTimerMs, methods, names, whole } from '../arguments.ts'
import type { FetchedFile, FileDownload } from '../execute/file-download.ts'
import { ProblemError } from '../problems.ts'
import { ServerError } from '../server-error.ts'

/** Network rules and limits of a guarded download. By default only `https` to public addresses is allowed. */
export interface GuardedDownloadOptions {
  /** Allows http. Default: https only. */
  readonly http?: boolean
  /** Private addresses and ranges that may be reached. Default: none. */
  readonly allow?: readonly string[]
  /** Maximum bytes of one file, if the caller gives no lower limit. Default 10 MiB. */
  readonly maxBytes?: number
  /** Timeout in milliseconds for a download with all redirects. Default 10,000. */
  readonly timeoutMs?: number
  /** Maximum number of redirects. Default 3. */
  readonly maxRedirects?: number
  /** Returns all addresses of a name. Default: the resolver of the system. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
  /** Additional trusted certificate authorities, in PEM. */
  readonly ca?: readonly string[]
  /** Time and timers. Default: the system clock. */
  readonly clock?: Clock
}

const { checkBoolean, checkFunction } = configChecks

const optionChecks: FieldChecks<GuardedDownloadOptions> = {
  http: checkBoolean,
  allow: names,
  ca: names,
  resolve: checkFunction,
  clock: methods('now', 'setTimer'),
  maxBytes: whole(1),
  timeoutMs: whole(1, longestTimerMs),
  maxRedirects: whole(0),
}

const defaultMaxBytes = 10 * 1024 * 1024
const redirects: readonly (number | undefined)[] = [301, 302, 303, 307, 308]
const octets = 'application/octet-stream'
const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'bowline' }

const refusals: Readonly<Record<AddressRefusal, (protocols: string) => string>> = {
  protocol: (protocols) => `The address of a file must begin with ${protocols}`,
  user: () => 'The address of a file must not have a user or a password.',
  'not-public': () => 'The address of a file must be a public one.',
}

/**
 * Creates a downloader for untrusted URLs. It connects only to checked addresses, never into the private network, and checks each
 * redirect again. The error is the same for a refused URL and for one that cannot be resolved.
 */
export function guardedDownload(options: GuardedDownloadOptions = {}): FileDownload {
  configChecks.checkFields('options', options, optionChecks)
  const { maxBytes = defaultMaxBytes, timeoutMs = 10_000, maxRedirects = 3, http, resolve, ca, clock = systemClock } = options
  const { ranges, faults } = parseRanges(options.allow ?? [], (place) => `allow[${place}]`)
  if (faults.length > 0) throw new ServerError('invalid-config', faults.join('; '))
  const protocols = http ? 'https: or http:' : 'https:'
  const guard: GuardOptions = { http, ranges, resolve, ca }
  return async (url, abortSignal, mostBytes = maxBytes) => {
    const late = new AbortController()
    const cancel = clock.setTimer(clock.now() + timeoutMs, () => late.abort(), { hold: true })
    const signal = AbortSignal.any([abortSignal, late.signal])
    try {
      return await unlessAborted(follow(url, { guard, maxBytes: Math.min(maxBytes, mostBytes), maxRedirects, signal }), signal)
    } catch (error) {
      const { RefusedAddress } = await loadGuardedRequest()
      if (error instanceof RefusedAddress) throw new ProblemError('url-not-allowed', refusals[error.refusal](protocols))
      throw error instanceof ProblemError ? error : failed('A file could not be fetched.', error)
    } finally {
      cancel()
    }
  }
}

interface Fetching {
  readonly guard: GuardOptions
  readonly maxBytes: number
  readonly maxRedirects: number
  readonly signal: AbortSignal
}

async function follow(start: URL, fetching: Fetching): Promise<FetchedFile> {
  const { guard, maxBytes, maxRedirects, signal } = fetching
  const { guardedRequest } = await loadGuardedRequest()
  let url = start
  for (let count = 0; count <= maxRedirects; count++) {
    const response = await guardedRequest(url, { headers, signal }, guard)
    const {
      statusCode,
      headers: { location },
    } = response
    if (!redirects.includes(statusCode) || location === undefined) return read(response, maxBytes)
    response.destroy()
    if (!URL.canParse(location, url.href)) throw failed('The address of a file redirects to an invalid URL.')
    url = new URL(location, url)
  }
  throw failed(`The address of a file exceeds the limit of redirects (${maxRedirects}).`)
}

async function read(response: IncomingMessage, maxBytes: number): Promise<FetchedFile> {
  const { statusCode = 0, headers } = response
  try {
    if (statusCode < 200 || statusCode > 299) throw failed('A file could not be fetched: its server refused the request.')
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw failed('A file could not be fetched: it is compressed.')
    const chunks: Buffer[] = []
    let length = Number(headers['content-length'] ?? 0)
    if (length > maxBytes) throw tooLarge(maxBytes)
    length = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxBytes) throw tooLarge(maxBytes)
      chunks.push(chunk)
    }
    const bytes = Buffer.concat(chunks)
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return { data, mediaType: headers['content-type']?.split(';')[0]?.trim() || octets, toBase64: () => bytes.toString('base64') }
  } finally {
    response.destroy()
  }
}

/** Stops waiting on abort. Some work, such as a resolver, cannot be stopped itself. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(new Error('It took too long.'))
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function tooLarge(maxBytes: number): ProblemError {
  return failed(`A file may have at most ${maxBytes} bytes.`)
}

function failed(detail: string, cause?: unknown): ProblemError {
  return new ProblemError('invalid-input', detail, cause === undefined ? {} : { cause })
}
