import type { LookupFunction } from 'node:net'
import { lookup as resolveName } from 'node:dns/promises'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { rootCertificates } from 'node:tls'
import { systemClock, type Clock } from '@bowline/llm'
import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks, longestTimerMs, methods, names, whole } from '../arguments.ts'
import type { FetchedFile, FileDownload } from '../execute/file-download.ts'
import { isPublic, isWithin, parseAddress, parseRanges, type Address } from '../http/addresses.ts'
import { ProblemError } from '../problems.ts'
import { ServerError } from '../server-error.ts'

export interface GuardedDownloadOptions {
  /** Addresses with http too. Default: https only. */
  readonly http?: boolean
  /** Addresses and ranges of your own network that may be reached all the same. Default: none. */
  readonly allow?: readonly string[]
  /** Of one file, where the caller has not less to give. Default 10 MiB. */
  readonly maxBytes?: number
  /** For the whole of it, with all redirects. Default 10,000. */
  readonly timeoutMs?: number
  /** Default 3. */
  readonly maxRedirects?: number
  /** All addresses of a name. Default: the resolver of the system. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
  /** Further authorities whose certificates are believed, in PEM. */
  readonly ca?: readonly string[]
  /** Time and timers. Default: those of the system. */
  readonly clock?: Clock
}

interface Guard {
  readonly isAllowed: (address: Address) => boolean
  readonly protocols: readonly string[]
  readonly resolve: (name: string) => Promise<readonly string[]>
}

const { checkBoolean, checkFunction } = configChecks

const optionChecks: FieldChecks<GuardedDownloadOptions> = {
  ...{ http: checkBoolean, allow: names, ca: names, resolve: checkFunction, clock: methods('now', 'setTimer') },
  ...{ maxBytes: whole(1), timeoutMs: whole(1, longestTimerMs), maxRedirects: whole(0) },
}

const defaultMaxBytes = 10 * 1024 * 1024
const redirects: readonly (number | undefined)[] = [301, 302, 303, 307, 308]
const octets = 'application/octet-stream'

/**
 * Fetches what somebody else named, and nothing within this network: the addresses that were tested are the ones that
 * are connected to, and each redirect is tested anew. What is refused, and what cannot be resolved, are one refusal.
 */
export function guardedDownload(options: GuardedDownloadOptions = {}): FileDownload {
  configChecks.checkFields('options', options, optionChecks)
  const { maxBytes = defaultMaxBytes, timeoutMs = 10_000, maxRedirects = 3, resolve = systemResolve, ca, clock = systemClock } = options
  const { ranges, faults } = parseRanges(options.allow ?? [], (place) => `allow[${place}]`)
  if (faults.length > 0) throw new ServerError('invalid-config', faults.join('; '))
  const guard: Guard = {
    isAllowed: (address) => isPublic(address) || isWithin(address, ranges),
    protocols: options.http ? ['https:', 'http:'] : ['https:'],
    resolve,
  }
  return async (url, abortSignal, mostBytes = maxBytes) => {
    const late = new AbortController()
    const cancel = clock.setTimer(clock.now() + timeoutMs, () => late.abort(), { hold: true })
    const signal = AbortSignal.any([abortSignal, late.signal])
    try {
      return await unlessAborted(follow(url, { guard, ca, maxBytes: Math.min(maxBytes, mostBytes), maxRedirects, signal }), signal)
    } catch (error) {
      throw error instanceof ProblemError ? error : failed('A file could not be fetched.', error)
    } finally {
      cancel()
    }
  }
}

interface Fetching {
  readonly guard: Guard
  readonly ca: readonly string[] | undefined
  readonly maxBytes: number
  readonly maxRedirects: number
  readonly signal: AbortSignal
}

async function follow(start: URL, fetching: Fetching): Promise<FetchedFile> {
  const { guard, maxBytes, maxRedirects, signal } = fetching
  let url = start
  for (let count = 0; count <= maxRedirects; count++) {
    const addresses = await addressesOf(url, guard)
    signal.throwIfAborted()
    const response = await send(url, addresses, fetching)
    const { statusCode, headers } = response
    if (!redirects.includes(statusCode) || headers.location === undefined) return read(response, maxBytes)
    response.destroy()
    if (!URL.canParse(headers.location, url.href)) throw failed('The address of a file leads nowhere.')
    url = new URL(headers.location, url)
  }
  throw failed(`The address of a file leads on more than ${maxRedirects} times.`)
}

/** The addresses behind a URL. One that is not allowed is enough to refuse them all; what cannot be resolved is refused alike. */
async function addressesOf(url: URL, guard: Guard): Promise<readonly Address[]> {
  if (!guard.protocols.includes(url.protocol)) throw refused(`The address of a file must begin with ${guard.protocols.join(' or ')}`)
  if (url.username !== '' || url.password !== '') throw refused('The address of a file must not have a user or a password.')
  const name = url.hostname.replace(/^\[|\]$/g, '')
  const literal = parseAddress(name)
  const found = literal ? [literal] : (await guard.resolve(name).catch(() => [])).map(parseAddress)
  if (found.length === 0 || !found.every((address) => address !== undefined && guard.isAllowed(address))) throw notPublic()
  return found as readonly Address[]
}

/** Whoever asks for the name while connecting gets the addresses that were tested. */
function send(url: URL, addresses: readonly Address[], { signal, ca }: Fetching): Promise<IncomingMessage> {
  const pinned = addresses.map((address) => ({ address: address.toString(), family: address.kind() === 'ipv4' ? 4 : 6 }))
  const lookup: LookupFunction = (_name, { all }, done) => {
    const [first] = pinned
    if (all || !first) done(null, pinned)
    else done(null, first.address, first.family)
  }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // A connection of its own: one that is kept could lead elsewhere.
  const headers = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'bowline' }
  const options = { lookup, signal, agent: false, headers, ...(ca && { ca: [...rootCertificates, ...ca] }) } as const
  const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
  request.once('response', resolve)
  request.once('upgrade', (_response, socket) => {
    socket.destroy()
    reject(failed('A file could not be fetched: its server wants to speak another protocol.'))
  })
  request.on('error', reject)
  // After an answer this says nothing new.
  request.once('close', () => reject(failed('A file could not be fetched: there was no answer.')))
  request.end()
  return promise
}

async function read(response: IncomingMessage, maxBytes: number): Promise<FetchedFile> {
  const { statusCode = 0, headers } = response
  try {
    if (statusCode < 200 || statusCode > 299) throw failed('A file could not be fetched: its server refuses.')
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

async function systemResolve(name: string): Promise<readonly string[]> {
  const found = await resolveName(name, { all: true })
  return found.map(({ address }) => address)
}

/** Not all of it can be stopped, a resolver for one, but it need not be waited for. */
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

function notPublic(): ProblemError {
  return refused('The address of a file must be a public one.')
}

function refused(detail: string): ProblemError {
  return new ProblemError('url-not-allowed', detail)
}

function tooLarge(maxBytes: number): ProblemError {
  return failed(`A file may have at most ${maxBytes} bytes.`)
}

function failed(detail: string, cause?: unknown): ProblemError {
  return new ProblemError('invalid-input', detail, cause === undefined ? {} : { cause })
}
