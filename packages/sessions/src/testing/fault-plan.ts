import type { SessionStore } from '../contract/session-store.ts'
import { SessionError } from '../errors.ts'
import type { StoreOperation } from './around-store.ts'

/** Rules of faults. The first matching rule applies; a call without one goes through. */
export type FaultPlan = readonly FaultRule[]

/** A fault for one operation, or for all. */
export type FaultRule = { readonly [Name in StoreOperation]: OperationFault<Name> }[StoreOperation] | AnyFault

export interface FaultTimes {
  /** How many fitting calls go through first. Default 0. */
  readonly skip?: number
  /** How many fitting calls fail then. Default: all. */
  readonly times?: number
}

/** A fault for one operation, with the calls it hits. */
export interface OperationFault<Name extends StoreOperation> extends FaultTimes {
  readonly of: Name
  /** Which calls fit. Default: all of the operation. */
  readonly when?: (...args: Parameters<SessionStore[Name]>) => boolean
  readonly fault: Fault | Answer<Name>
}

/** A fault for every operation except `open` and `close`. */
export interface AnyFault extends FaultTimes {
  readonly of: 'any'
  readonly when?: (operation: StoreOperation) => boolean
  readonly fault: Fault
}

/** A failure of one call to a store. */
export type Fault =
  /** Nothing of the call reaches the store: it throws `store-unavailable`. */
  | 'unavailable'
  /** The store does what it is asked for, and then throws `store-unavailable`. */
  | 'answer-lost'
  /** Nothing reaches the store, and this is thrown. */
  | { readonly error: Error }
  /** The call waits before it reaches the store, or its answer does. A promise that never settles is a store that hangs. */
  | { readonly waitFor: () => Promise<unknown>; readonly at?: 'before' | 'after' }

/** A fixed answer in place of the store's, such as a refused renewal or an empty claim. */
export interface Answer<Name extends StoreOperation> {
  readonly answer: (...args: Parameters<SessionStore[Name]>) => Awaited<ReturnType<SessionStore[Name]>>
}

export function unavailable(operation: StoreOperation): SessionError {
  return new SessionError('store-unavailable', `The store could not be reached: ${operation}.`)
}
