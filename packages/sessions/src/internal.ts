// For the other packages of Bowline. Users should not import it: any version except a patch may change it.
export { configChecks, longestMs, sessionsVersionCheck } from './arguments.ts'
export { holdingStatuses, runMoves, terminalStatuses, waitingKinds, waitingStatuses } from './contract/records.ts'
export type { DeltaBatch, DeltaPlace, DeltaStore } from './contract/session-store.ts'
export { isWithin, networkOf, parseAddress, parseRanges, type Address, type AddressRange } from './net/addresses.ts'
export type { AddressRefusal, GuardOptions } from './net/guarded-request.ts'
export { announceable } from './writer/reminders.ts'

/** Loads the code that needs Node, so that importing this module does not need it. */
export const loadGuardedRequest = () => import('./net/guarded-request.ts')

/** Loads the module that runtimes load before their first webhook request. */
export function loadWebhookRequests(): Promise<unknown> {
  return import('./net/post-webhook.ts')
}
