import type { SessionStore } from '@bowline/sessions'
import { SessionError } from '@bowline/sessions'
import type { StoreOperation } from './around-store.ts'

/** Rules of faults. The first matching rule applies; a call without a matching rule goes through. */
export type FaultPlan = readonly FaultRule[]

/** A fault for one operation, or for all. */
export type FaultRule = { readonly [Name in StoreOperation]: OperationFault<Name> }[StoreOperation] | AnyFault

export interface FaultTimes {
  /** Number of matching calls that go through first. Default 0. */
  readonly skip?: number
  /** Number of matching calls that then fail. Default: all. */
  readonly times?: number
}

/** A fault for one operation, with the calls it hits. */
export interface OperationFault<Name extends StoreOperation> extends FaultTimes {
  readonly of: Name
  /** Selects the calls that match. Default: all calls of the operation. */
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
  /** The call does not reach the store and throws `store-unavailable`. */
  | 'unavailable'
  /** The store executes the call, and then the call throws `store-unavailable`. */
  | 'answer-lost'
  /** The call does not reach the store and throws this error. */
  | { readonly error: Error }
  /** Delays the call before it reaches the store, or its answer. With a promise that never settles, the store hangs. */
  | { readonly waitFor: () => Promise<unknown>; readonly at?: 'before' | 'after' }

/** A fixed answer instead of that of the store, such as a refused renewal or an empty claim. */
export interface Answer<Name extends StoreOperation> {
  readonly answer: (...args: Parameters<SessionStore[Name]>) => Awaited<ReturnType<SessionStore[Name]>>
}

export function unavailable(operation: StoreOperation): SessionError {
  return new SessionError('store-unavailable', `The store could not be reached: ${operation}.`)
}
