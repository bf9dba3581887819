import { isWithin, parseAddress, type Address, type AddressRange } from '@bowline/sessions/internal'

/** Facts of the transport about a caller. */
export interface Peer {
  /** IP address of the caller. */
  readonly remoteAddress?: string
  /** Address of this machine at which the request arrived. A Host header may name it. */
  readonly localAddress?: string
}

/** Source and target of a request, as far as they can be trusted. */
export interface Caller {
  /** Address without IPv6 notation for IPv4. Undefined if it is unknown. */
  readonly address: string | undefined
  readonly localAddress: string | undefined
  readonly host: string
  /** Origin of this server as the caller sees it. */
  readonly origin: string
}

/** Proxies whose `X-Forwarded-*` headers are trusted. */
export type TrustedProxies = readonly AddressRange[]

/**
 * Returns the caller of a request. Only this function reads `X-Forwarded-For`, `-Host` and `-Proto`. It uses them if a trusted
 * proxy sent them.
 */
export function callerOf(request: Request, peer: Peer | undefined, trusted: TrustedProxies): Caller {
  const url = new URL(request.url)
  const given = request.headers.get('host') ?? url.host
  const from = parseAddress(peer?.remoteAddress)
  const known = {
    address: from?.toString() ?? peer?.remoteAddress,
    localAddress: parseAddress(peer?.localAddress)?.toString(),
  }
  if (!from || !isWithin(from, trusted)) return { ...known, host: given, origin: url.origin }
  const host = lastOf(request, 'x-forwarded-host') ?? given
  const protocol = lastOf(request, 'x-forwarded-proto') ?? url.protocol.slice(0, -1)
  return { ...known, address: originalAddress(from, request, trusted).toString(), host, origin: originOf(protocol, host) }
}

/**
 * Returns the address of the caller. Each proxy appends the address from which it was called, so it is the last address that is not
 * a trusted proxy.
 */
function originalAddress(from: Address, request: Request, trusted: TrustedProxies): Address {
  const hops = request.headers.get('x-forwarded-for')?.split(',') ?? []
  let address = from
  while (isWithin(address, trusted)) {
    const before = parseAddress(withoutPort(hops.pop()?.trim() ?? ''))
    if (!before) break
    address = before
  }
  return address
}

function withoutPort(hop: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}

/** Returns the value of the nearest proxy: earlier values may come from outside. */
function lastOf(request: Request, name: string): string | undefined {
  return request.headers.get(name)?.split(',').at(-1)?.trim() || undefined
}

function originOf(protocol: string, host: string): string {
  const url = `${protocol === 'https' ? 'https' : 'http'}://${host}`
  return URL.canParse(url) ? new URL(url).origin : 'null'
}
