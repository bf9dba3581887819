import ipaddr from 'ipaddr.js'

export type AddressRange = ReturnType<typeof ipaddr.parseCIDR>
export type Address = AddressRange[0]

/** Looks public, and leads to the machines that run this one: virtual machines of a cloud reach its services there. */
const platformAddress = ipaddr.parseCIDR('168.63.129.16/32')

/** All of IPv6 that is given out to be reached from anywhere. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** Ranges and what is wrong in the list: each entry is an address, or a range such as `10.0.0.0/8`. */
export function parseRanges(list: readonly string[], nameOf: (place: number) => string): { readonly ranges: readonly AddressRange[]; readonly faults: readonly string[] } {
  const ranges: AddressRange[] = []
  const faults: string[] = []
  for (const [place, entry] of list.entries()) {
    const address = parseAddress(entry)
    if (address) ranges.push([address, address.kind() === 'ipv4' ? 32 : 128])
    else if (ipaddr.IPv4.isValidCIDRFourPartDecimal(entry) || ipaddr.IPv6.isValidCIDR(entry)) ranges.push(ipaddr.parseCIDR(entry))
    else faults.push(`${nameOf(place)}: ${JSON.stringify(entry)} is neither an address nor a range such as 10.0.0.0/8`)
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

/** Neither of this machine nor of a private, special or reserved network, nor a way around to one. */
export function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' ? !isWithin(address, [platformAddress]) : isWithin(address, [globalUnicast])
}
