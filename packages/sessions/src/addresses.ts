export { isPublic, isWithin, networkOf, parseAddress, parseRanges, type Address, type AddressRange } from './net/addresses.ts'
