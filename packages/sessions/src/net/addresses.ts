/** A parsed IPv4 or IPv6 address. */
export interface Address {
  readonly family: 4 | 6
  /** The address as a number of 32 or 128 bits. */
  readonly bits: bigint
  /** Returns the one text form of the address. */
  toString(): string
}

/** A range of IP addresses: an address in it, and the number of fixed bits. */
export type AddressRange = readonly [address: Address, fixedBits: number]

/**
 * Ranges that are not public although they may look so: of one machine or network, multicast, reserved, for tests, or tunnels to such
 * an address. 168.63.129.16 leads to the host: virtual machines of a cloud reach services of the platform there.
 */
const special4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3`
/** Within the addresses that are allocated for global use. */
const special6 = '2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20'
const special = parseRanges(`${special4} ${special6}`.split(/\s+/), String).ranges

/** All IPv6 addresses that are allocated for global use. */
const globalUnicast = parseRanges(['2000::/3'], String).ranges

/** Returns the parsed ranges, and the errors of the list. Each entry is an address, or a range such as `10.0.0.0/8`. */
export function parseRanges(list: readonly string[], nameOf: (place: number) => string): { readonly ranges: readonly AddressRange[]; readonly faults: readonly string[] } {
  const ranges: AddressRange[] = []
  const faults: string[] = []
  for (const [place, entry] of list.entries()) {
    const [, first = entry, bits] = /^(.+)\/(\d+)$/.exec(entry) ?? []
    const address = bits === undefined ? parseAddress(entry) : (parse4(first) ?? parse6(first))
    const fixedBits = address && Number(bits ?? sizeOf(address))
    if (address && fixedBits !== undefined && fixedBits <= sizeOf(address)) ranges.push([address, fixedBits])
    else faults.push(`${nameOf(place)}: ${JSON.stringify(entry)} must be an IP address or a range such as 10.0.0.0/8`)
  }
  return { ranges, faults }
}

/**
 * Returns the address, or undefined if the text is none. Strict: refuses forms that programs read differently (`127.1`,
 * `0x7f000001`). An IPv4 address mapped into IPv6 is returned as IPv4.
 */
export function parseAddress(text: string | undefined): Address | undefined {
  if (text === undefined) return undefined
  const address = parse4(text) ?? parse6(text)
  return address?.family === 6 && address.bits >> 32n === 0xffffn ? address4(address.bits & 0xffff_ffffn) : address
}

function parse4(text: string): Address | undefined {
  const parts = /^(?:(?:0|[1-9]\d{0,2})(?:\.(?!$)|$)){4}$/.test(text) ? text.split('.').map(Number) : [256]
  return parts.every((part) => part < 256) ? address4(joined(parts, 8n)) : undefined
}

function address4(bits: bigint): Address {
  return { family: 4, bits, toString: () => groupsOf(bits, 4, 8n).map(String).join('.') }
}

/** Leaves the forms of the address to the parser of URLs, which also returns its one text form. A zone may follow the address. */
function parse6(text: string): Address | undefined {
  const [, address = '', zone = ''] = /^([\da-f:.]+)(%[\w.-]+)?$/i.exec(text) ?? []
  const url = `http://[${address}]`
  if (!address.includes(':') || !URL.canParse(url)) return undefined
  const short = new URL(url).hostname.slice(1, -1)
  const [head = [], tail = []] = short.split('::').map((part) => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16))))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0)
  return { family: 6, bits: joined([...head, ...zeros, ...tail], 16n), toString: () => short + zone }
}

function joined(groups: readonly number[], size: bigint): bigint {
  return groups.reduce((bits, group) => (bits << size) | BigInt(group), 0n)
}

function groupsOf(bits: bigint, count: number, size: bigint): readonly number[] {
  return Array.from({ length: count }, (_, place) => Number(BigInt.asUintN(Number(size), bits >> (size * BigInt(count - 1 - place)))))
}

function sizeOf({ family }: Address): number {
  return family === 4 ? 32 : 128
}

/**
 * Returns a key for the likely owner of an address: an IPv4 address itself, the /64 of an IPv6 address. Callers without an
 * address share one key.
 */
export function networkOf(address: string | undefined): string {
  const parsed = parseAddress(address)
  if (parsed?.family !== 6) return address ?? 'unknown'
  return `${groupsOf(parsed.bits >> 64n, 4, 16n).map((group) => group.toString(16)).join(':')}::/64`
}

/** Returns whether an address is in one of the ranges. An IPv4 address is never in an IPv6 range. */
export function isWithin(address: Address, ranges: readonly AddressRange[]): boolean {
  const size = sizeOf(address)
  return ranges.some(([other, fixedBits]) => other.family === address.family && (other.bits ^ address.bits) >> BigInt(size - fixedBits) === 0n)
}

/** Returns whether an address is public: not of this machine, not private, special or reserved, and no tunnel to such an address. */
export function isPublic(address: Address): boolean {
  return !isWithin(address, special) && (address.family === 4 || isWithin(address, globalUnicast))
}
