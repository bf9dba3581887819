import type { SessionStore, StateStore } from '@bowline/sessions'

export class ProcessDied extends Error {}

export interface DeathPoint {
  /** Number of the write after which the process dies, from 1: a commit, a claim of something, a change or a touch of a state. */
  readonly write: number
}

export interface DyingWorld {
  readonly store: SessionStore
  readonly died: Promise<'died'>
  readonly writes: readonly string[]
}

/** Wraps a session store and its states. After the death of the process at one of its writes, it can reach neither. */
export function dyingWorld(inner: SessionStore, point?: DeathPoint): DyingWorld {
  const writes: string[] = []
  const { promise: died, resolve } = Promise.withResolvers<'died'>()
  let dead = false
  const strike = (write: number): void => {
    if (write !== point?.write) return
    dead = true
    resolve('died')
    throw new ProcessDied()
  }
  const watched = <Store extends object>(target: Store, writing: readonly string[], states?: StateStore): Store =>
    new Proxy(target, {
      get(of, name) {
        if (name === 'state' && states) return states
        const call: unknown = Reflect.get(of, name)
        if (typeof call !== 'function' || name === 'subscribe') return call
        return async (...args: unknown[]) => {
          if (dead && name !== 'close') throw new ProcessDied()
          const write = writing.includes(String(name)) ? writes.push(String(name)) : 0
          const result: unknown = await (call as (...given: unknown[]) => unknown).apply(of, args)
          const claimed = name === 'claim' && Array.isArray(result) && result.length > 0
          if (write > 0 || claimed) strike(write || writes.push('claim'))
          return result
        }
      },
    })
  const store = watched(inner, ['commit'], watched(inner.state, ['compareAndSet', 'touch']))
  return { store, died, writes }
}
