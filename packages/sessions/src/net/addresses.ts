import ipaddr from 'ipaddr.js'

/** A parsed range of IP addresses: the first address and the number of fixed bits. */
export type AddressRange = ReturnType<typeof ipaddr.parseCIDR>
/** A parsed IPv4 or IPv6 address of the package `ipaddr.js`. */
export type Address = AddressRange[0]

/** Looks public, but leads to the host: virtual machines of a cloud reach services of the platform there. */
const platformAddress = ipaddr.parseCIDR('168.63.129.16/32')

/** All IPv6 addresses that are allocated for global use. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** Returns the parsed ranges, and the errors of the list. Each entry is an address, or a range such as `10.0.0.0/8`. */
export function parseRanges(
  list: readonly string[],
  nameOf: (place: number) => string,
): { readonly ranges: readonly AddressRange[]; readonly faults: readonly string[] } {
  const ranges: AddressRange[] = []
  const faults: string[] = []
  for (const [place, entry] of list.entries()) {
    const address = parseAddress(entry)
    if (address) ranges.push([address, address.kind() === 'ipv4' ? 32 : 128])
    else if (ipaddr.IPv4.isValidCIDRFourPartDecimal(entry) || ipaddr.IPv6.isValidCIDR(entry)) ranges.push(ipaddr.parseCIDR(entry))
    else faults.push(`${nameOf(place)}: ${JSON.stringify(entry)} must be an IP address or a range such as 10.0.0.0/8`)
  }
  return { ranges, faults }
}

/**
 * Returns the address, or undefined if the text is none. Strict: refuses forms that programs read differently (`127.1`,
 * `0x7f000001`). An IPv4 address mapped into IPv6 is returned as IPv4.
 */
export function parseAddress(text: string | undefined): Address | undefined {
  if (text === undefined || !(ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text))) return undefined
  return ipaddr.process(text)
}

/**
 * Returns a key for the likely owner of an address: an IPv4 address itself, the /64 of an IPv6 address. Callers without an
 * address share one key.
 */
export function networkOf(address: string | undefined): string {
  const parsed = parseAddress(address)
  if (!parsed || !('parts' in parsed)) return address ?? 'unknown'
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** Returns whether an address is in one of the ranges. An IPv4 address is never in an IPv6 range. */
export function isWithin(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some((range) => range[0].kind() === address.kind() && address.match(range))
}

/** Returns whether an address is public: not of this machine, not private, special or reserved, and no tunnel to such an address. */
export function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' ? !isWithin(address, [platformAddress]) : isWithin(address, [globalUnicast])
}
