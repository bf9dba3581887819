import { lookup as resolveName } from 'node:dns/promises'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { isPublic, isWithin, parseAddress, type Address, type AddressRange } from './addresses.ts'

/** Network rules of a guarded request. By default only `https` to public addresses is allowed. */
export interface GuardOptions {
  /** True also allows http. Default: https only. */
  readonly http?: boolean | undefined
  /** Ranges of the own network that are allowed too. */
  readonly ranges?: readonly AddressRange[]
  /** Returns all addresses of a name. Default: the system resolver. */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined
  /** Additional trusted certificate authorities, in PEM. */
  readonly ca?: readonly string[] | undefined
}

/** Method, headers, body and abort signal of a guarded request. Default method: `GET`. */
export interface GuardedRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

/** Reason of a refused address. A name that cannot be resolved is `not-public`, so that callers cannot probe for names. */
export type AddressRefusal = 'protocol' | 'user' | 'not-public'

/** Error of a refused address. No request was sent. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
  readonly refusal: AddressRefusal

  constructor(refusal: AddressRefusal) {
    super(`The address is refused: ${refusal}`)
    this.refusal = refusal
  }
}

/**
 * Sends a request to an untrusted URL. Connects only to checked addresses, never into this network. Does not follow redirects.
 * Rejects with `RefusedAddress`.
 */
export async function guardedRequest(url: URL, request: GuardedRequest, options: GuardOptions): Promise<IncomingMessage> {
  const addresses = await addressesOf(url, options)
  request.signal.throwIfAborted()
  return send(url, addresses, request, options)
}

/** Returns the addresses of a URL. Refuses all of them if one is not allowed. */
async function addressesOf(url: URL, { http = false, ranges = [], resolve = systemResolve }: GuardOptions): Promise<readonly Address[]> {
  if (url.protocol !== 'https:' && !(http && url.protocol === 'http:')) throw new RefusedAddress('protocol')
  if (url.username !== '' || url.password !== '') throw new RefusedAddress('user')
  const name = url.hostname.replace(/^\[|\]$/g, '')
  const literal = parseAddress(name)
  const found = literal ? [literal] : (await resolve(name).catch(() => [])).map(parseAddress)
  const isAllowed = (address: Address | undefined): boolean => address !== undefined && (isPublic(address) || isWithin(address, ranges))
  if (found.length === 0 || !found.every(isAllowed)) throw new RefusedAddress('not-public')
  return found as readonly Address[]
}

/** Sends the request. Its connection resolves the name to the checked addresses only. */
function send(
  url: URL,
  addresses: readonly Address[],
  { method = 'GET', headers, body, signal }: GuardedRequest,
  { ca }: GuardOptions,
): Promise<IncomingMessage> {
  const pinned = addresses.map((address) => ({ address: address.toString(), family: address.kind() === 'ipv4' ? 4 : 6 }))
  const lookup: LookupFunction = (_name, { all }, done) => {
    const [first] = pinned
    if (all || !first) done(null, pinned)
    else done(null, first.address, first.family)
  }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // A connection of its own: a reused one could lead elsewhere.
  const options = { method, lookup, signal, agent: false, headers, ...(ca && { ca: [...rootCertificates, ...ca] }) } as const
  const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
  request.once('response', resolve)
  request.once('upgrade', (_response, socket) => {
    socket.destroy()
    reject(new Error('The server switched to another protocol.'))
  })
  request.on('error', reject)
  // Has no effect after an answer.
  request.once('close', () => reject(new Error('The server did not answer.')))
  request.end(body)
  return promise
}

async function systemResolve(name: string): Promise<readonly string[]> {
  const found = await resolveName(name, { all: true })
  return found.map(({ address }) => address)
}
