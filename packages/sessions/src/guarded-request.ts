export { guardedRequest, RefusedAddress, type AddressRefusal, type GuardedRequest, type GuardOptions } from './net/guarded-request.ts'
