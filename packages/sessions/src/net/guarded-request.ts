import { lookup as resolveName } from 'node:dns/promises'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { isPublic, isWithin, parseAddress, type Address, type AddressRange } from './addresses.ts'

export interface GuardOptions {
  /** Addresses with http too. Default: https only. */
  readonly http?: boolean | undefined
  /** Ranges of the own network that may be reached all the same. */
  readonly ranges?: readonly AddressRange[]
  /** All addresses of a name. Default: the resolver of the system. */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined
  /** Further authorities whose certificates are believed, in PEM. */
  readonly ca?: readonly string[] | undefined
}

export interface GuardedRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

/** Why an address was refused. One that cannot be resolved is refused as one that is not public: nobody learns which names there are. */
export type AddressRefusal = 'protocol' | 'user' | 'not-public'

/** Nothing was sent. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
  readonly refusal: AddressRefusal

  constructor(refusal: AddressRefusal) {
    super(`The address is refused: ${refusal}`)
    this.refusal = refusal
  }
}

/**
 * Sends a request to an address that somebody else named, and to nothing within this network: the addresses that were tested
 * are the ones that are connected to. A redirect is an answer as any other. Rejects with `RefusedAddress`.
 */
export async function guardedRequest(url: URL, request: GuardedRequest, options: GuardOptions): Promise<IncomingMessage> {
  const addresses = await addressesOf(url, options)
  request.signal.throwIfAborted()
  return send(url, addresses, request, options)
}

/** The addresses behind a URL. One that is not allowed is enough to refuse them all. */
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

/** Whoever asks for the name while connecting gets the addresses that were tested. */
function send(url: URL, addresses: readonly Address[], { method = 'GET', headers, body, signal }: GuardedRequest, { ca }: GuardOptions): Promise<IncomingMessage> {
  const pinned = addresses.map((address) => ({ address: address.toString(), family: address.kind() === 'ipv4' ? 4 : 6 }))
  const lookup: LookupFunction = (_name, { all }, done) => {
    const [first] = pinned
    if (all || !first) done(null, pinned)
    else done(null, first.address, first.family)
  }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // A connection of its own: one that is kept could lead elsewhere.
  const options = { method, lookup, signal, agent: false, headers, ...(ca && { ca: [...rootCertificates, ...ca] }) } as const
  const request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
  request.once('response', resolve)
  request.once('upgrade', (_response, socket) => {
    socket.destroy()
    reject(new Error('The server wants to speak another protocol.'))
  })
  request.on('error', reject)
  // After an answer this says nothing new.
  request.once('close', () => reject(new Error('There was no answer.')))
  request.end(body)
  return promise
}

async function systemResolve(name: string): Promise<readonly string[]> {
  const found = await resolveName(name, { all: true })
  return found.map(({ address }) => address)
}
