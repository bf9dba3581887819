import type { SessionStore } from '@bowline/sessions'
import { aroundStore, type StoreOperation } from './around-store.ts'
import { checkFaultyStore } from './check-options.ts'
import { unavailable, type Fault, type FaultPlan, type FaultTimes } from './fault-plan.ts'

/** Returns a store that fails as planned and otherwise forwards to the given one. */
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

/** A rule for any operation. */
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
