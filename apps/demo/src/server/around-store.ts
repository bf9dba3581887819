import type { SessionStore } from '@bowline/sessions'

type Changed = Partial<Pick<SessionStore, 'open' | 'close' | 'commit'>>

/** The store with these operations in the place of its own. */
export function aroundStore(store: SessionStore, changed: Changed): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(changed, name)) return changed[name as keyof Changed]
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}
