import { isWithin, parseAddress, type Address, type AddressRange } from '@bowline/sessions/addresses'

/** Transport facts of a caller. */
export interface Peer {
  /** IP address of the caller. */
  readonly remoteAddress?: string
  /** The address of this machine at which it arrived; a Host header may name it. */
  readonly localAddress?: string
}

/** Where a request comes from and what it was sent to, as far as that can be believed. */
export interface Caller {
  /** Without IPv6 notation for IPv4; undefined when nobody knows it. */
  readonly address: string | undefined
  readonly localAddress: string | undefined
  readonly host: string
  /** That of this server as the caller sees it. */
  readonly origin: string
}

/** Proxies whose `X-Forwarded-*` headers are believed. */
export type TrustedProxies = readonly AddressRange[]

/** The one place that reads `X-Forwarded-For`, `-Host` and `-Proto`: they count when a trusted proxy sent them. */
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

/** Each proxy adds the address it was called from: the last one that no trusted proxy has is the caller's. */
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

/** What the nearest proxy said: anything before it may have come from outside. */
function lastOf(request: Request, name: string): string | undefined {
  return request.headers.get(name)?.split(',').at(-1)?.trim() || undefined
}

function originOf(protocol: string, host: string): string {
  const url = `${protocol === 'https' ? 'https' : 'http'}://${host}`
  return URL.canParse(url) ? new URL(url).origin : 'null'
}
