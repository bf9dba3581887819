import ipaddr from 'ipaddr.js'

/** What the transport knows of the caller. */
export interface Peer {
  /** Where the request comes from. */
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
export type AddressRange = ReturnType<typeof ipaddr.parseCIDR>
type Address = AddressRange[0]

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

/** Ranges and what is wrong in the list: each entry is an address, or a range such as `10.0.0.0/8`. */
export function parseRanges(list: readonly string[], name: string): { readonly ranges: TrustedProxies; readonly faults: readonly string[] } {
  const ranges: AddressRange[] = []
  const faults: string[] = []
  for (const entry of list) {
    const address = parseAddress(entry)
    if (address) ranges.push([address, address.kind() === 'ipv4' ? 32 : 128])
    else if (ipaddr.IPv4.isValidCIDRFourPartDecimal(entry) || ipaddr.IPv6.isValidCIDR(entry)) ranges.push(ipaddr.parseCIDR(entry))
    else faults.push(`${name}: ${JSON.stringify(entry)} is neither an address nor a range such as 10.0.0.0/8`)
  }
  return { ranges, faults }
}

/** Strict: forms that programs read differently (`127.1`, `0x7f000001`) are no addresses. IPv4 within IPv6 is IPv4. */
export function parseAddress(text: string | undefined): Address | undefined {
  if (text === undefined || !(ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text))) return undefined
  return ipaddr.process(text)
}

/** Who is likely to be one: whoever has an IPv6 address has the rest of its /64 too. Callers from nowhere are one. */
export function networkOf(address: string | undefined): string {
  const parsed = parseAddress(address)
  if (!parsed || !('parts' in parsed)) return address ?? 'unknown'
  return `${parsed.parts.slice(0, 4).map((part) => part.toString(16)).join(':')}::/64`
}

export function isWithin(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some((range) => range[0].kind() === address.kind() && address.match(range))
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
