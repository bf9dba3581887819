import type { Runtime, SessionStore } from '@bowline/sessions'

/** Creates a process that can die: no later call to the store is answered. */
export function mortalRuntime(
  store: SessionStore,
  open: (over: SessionStore) => Runtime,
): { readonly runtime: Runtime; readonly die: () => void } {
  let dead = false
  const mortal = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]): unknown => (dead ? new Promise(() => undefined) : Reflect.apply(member, target, args))
    },
  })
  return { runtime: open(mortal), die: () => void (dead = true) }
}
