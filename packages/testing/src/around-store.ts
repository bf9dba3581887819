import type { SessionStore } from '@bowline/sessions'

/** Name of a method of a session store that faults can hit. */
export type StoreOperation = keyof Omit<SessionStore, 'name' | 'capabilities' | 'state' | 'deltas' | 'subscribe'>

/** Wraps a store call. `go` calls the store itself. */
export type Around = (operation: StoreOperation, args: readonly unknown[], go: () => Promise<unknown>) => Promise<unknown>

/** The type makes a missing operation a compile error. */
export const operations: Readonly<Record<StoreOperation, true>> = {
  open: true,
  close: true,
  commit: true,
  claim: true,
  renew: true,
  readSession: true,
  readPath: true,
  readEvents: true,
  readRun: true,
  readCalls: true,
  readCall: true,
  readApproval: true,
  readInbox: true,
  listSessions: true,
  listRuns: true,
  listChildren: true,
  listBranches: true,
  listTimers: true,
  listClaimable: true,
  readDefinition: true,
  due: true,
  prune: true,
  claimNotices: true,
  settleNotice: true,
  listNotices: true,
  resendNotice: true,
}

/** Wraps each operation of the store. Its other members stay unchanged. */
export function aroundStore<Store extends SessionStore>(store: Store, around: Around): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      const call = (...args: unknown[]): unknown => (member as (...given: unknown[]) => unknown).apply(target, args)
      if (!(name in operations)) return call
      return (...args: unknown[]) => around(name as StoreOperation, args, () => call(...args) as Promise<unknown>)
    },
  })
}
