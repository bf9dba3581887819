import type { SessionStore } from '../contract/session-store.ts'

/** The store for those who may come before the runtime was started: their first call starts it. */
export function startingStore(store: SessionStore, started: () => Promise<unknown>): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || name === 'subscribe') return value
      return async (...parameters: unknown[]): Promise<unknown> => {
        await started()
        return Reflect.apply(value, target, parameters) as unknown
      }
    },
  })
}
