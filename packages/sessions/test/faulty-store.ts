import type { SessionStore } from '@bowline/sessions'

type Operation = keyof SessionStore

/** A store whose operations fail as `fault` says: with the error that it gives, or as it throws; undefined lets them through. */
export function faultyStore(
  store: SessionStore,
  fault: (operation: Operation, args: readonly unknown[]) => Error | Promise<never> | undefined,
): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const operation: unknown = Reflect.get(target, name)
      if (typeof operation !== 'function') return operation
      return (...args: unknown[]) => {
        const failure = fault(name as Operation, args)
        if (failure instanceof Error) return Promise.reject(failure)
        return failure ?? (operation as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}
