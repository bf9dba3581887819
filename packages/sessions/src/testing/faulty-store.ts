import { SessionError } from '../errors.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { aroundStore, type StoreOperation } from './around-store.ts'
import { checkFaultyStore } from './check-options.ts'

/** What goes wrong. Of the rules that fit a call the first counts; a call that none fits goes through. */
export type FaultPlan = readonly FaultRule[]

export type FaultRule = { readonly [Name in StoreOperation]: OperationFault<Name> }[StoreOperation] | AnyFault

interface FaultTimes {
  /** How many fitting calls go through first. Default 0. */
  readonly skip?: number
  /** How many fitting calls fail then. Default: all. */
  readonly times?: number
}

export interface OperationFault<Name extends StoreOperation> extends FaultTimes {
  readonly of: Name
  /** Which calls fit. Default: all of the operation. */
  readonly when?: (...args: Parameters<SessionStore[Name]>) => boolean
  readonly fault: Fault | Answer<Name>
}

/** Of every operation but `open` and `close`. */
export interface AnyFault extends FaultTimes {
  readonly of: 'any'
  readonly when?: (operation: StoreOperation) => boolean
  readonly fault: Fault
}

export type Fault =
  /** Nothing of the call reaches the store: it throws `store-unavailable`. */
  | 'unavailable'
  /** The store does what it is asked for, and then throws `store-unavailable`. */
  | 'answer-lost'
  /** Nothing reaches the store, and this is thrown. */
  | { readonly error: Error }
  /** The call waits before it reaches the store, or its answer does. A promise that never settles is a store that hangs. */
  | { readonly waitFor: () => Promise<unknown>; readonly at?: 'before' | 'after' }

/** What is answered in the place of the store: a renewal that is refused, a claim that finds nothing. */
export interface Answer<Name extends StoreOperation> {
  readonly answer: (...args: Parameters<SessionStore[Name]>) => Awaited<ReturnType<SessionStore[Name]>>
}

/** A store that fails as planned, for whoever uses it. */
export function faultyStore<Store extends SessionStore>(store: Store, faults: FaultPlan): Store {
  checkFaultyStore(store, faults)
  const rules = faults.map((rule) => ({ rule: rule as AnyRule, seen: 0 }))
  return aroundStore(store, async (operation, args, go) => {
    for (const each of rules) {
      const { skip = 0, times = Infinity, fault } = each.rule
      if (!fits(each.rule, operation, args)) continue
      each.seen += 1
      if (each.seen > skip && each.seen <= skip + times) return fail(fault, operation, args, go)
    }
    return go()
  })
}

/** A rule whatever its operation is. */
interface AnyRule extends FaultTimes {
  readonly of: StoreOperation | 'any'
  readonly when?: (...args: readonly unknown[]) => boolean
  readonly fault: Fault | { readonly answer: (...args: readonly unknown[]) => unknown }
}

function fits({ of, when }: AnyRule, operation: StoreOperation, args: readonly unknown[]): boolean {
  if (of === 'any') return operation !== 'open' && operation !== 'close' && (when?.(operation) ?? true)
  return of === operation && (when?.(...args) ?? true)
}

async function fail(
  fault: AnyRule['fault'],
  operation: StoreOperation,
  args: readonly unknown[],
  go: () => Promise<unknown>,
): Promise<unknown> {
  if (fault === 'unavailable') throw unavailable(operation)
  if (fault === 'answer-lost') {
    await go()
    throw unavailable(operation)
  }
  if ('error' in fault) throw fault.error
  if ('answer' in fault) return fault.answer(...args)
  if (fault.at !== 'after') await fault.waitFor()
  const answer = await go()
  if (fault.at === 'after') await fault.waitFor()
  return answer
}

export function unavailable(operation: StoreOperation): SessionError {
  return new SessionError('store-unavailable', `The store could not be reached: ${operation}.`)
}
