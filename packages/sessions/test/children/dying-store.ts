import { SessionError, type Batch, type ClaimRequest, type SessionStore } from '@bowline/sessions'
import { eventTypes } from '../recording-store.ts'

/** Writes that fail one after the other: more than are repeated at once. */
const failures = 4

/** Fault of the process or the store at one write of a scenario. */
export type Fault = 'dies-before' | 'dies-after' | 'fails-before' | 'fails-after'

export interface FaultPoint {
  /** Number of the write, from 1. A claim counts if it claims something. */
  readonly write: number
  readonly fault: Fault
}

export interface Write {
  readonly name: string
  readonly isClaim: boolean
}

export class ProcessDied extends Error {}

export interface DyingStore {
  readonly store: SessionStore
  /** Settles when the process dies. From then on it cannot reach the store. */
  readonly died: Promise<'died'>
  readonly writes: readonly Write[]
}

/** Wraps a store so that the process dies at one write, or that some writes fail without saying whether they were made. */
export function dyingStore(inner: SessionStore, point?: FaultPoint): DyingStore {
  const writes: Write[] = []
  const { promise: died, resolve } = Promise.withResolvers<'died'>()
  let dead = false

  function strike(write: number, when: 'before' | 'after'): void {
    if (!point?.fault.endsWith(when) || write < point.write) return
    if (point.fault.startsWith('fails') && write < point.write + failures)
      throw new SessionError('store-unavailable', 'The store was away for a moment.')
    if (point.fault.startsWith('fails') || write > point.write) return
    dead = true
    resolve('died')
    throw new ProcessDied()
  }
  const operations = {
    async commit(batch: Batch) {
      // Pushed before the await: others may write meanwhile.
      const write = writes.push({ name: eventTypes(batch).join(' '), isClaim: false })
      strike(write, 'before')
      const result = await inner.commit(batch)
      strike(write, 'after')
      return result
    },
    async claim(request: ClaimRequest) {
      const claims = await inner.claim(request)
      if (claims.length === 0) return claims
      strike(writes.push({ name: 'claim', isClaim: true }), 'after')
      return claims
    },
  }
  const store = new Proxy(inner, {
    get(target, name) {
      const operation: unknown = Reflect.get(name in operations ? operations : target, name)
      if (typeof operation !== 'function') return operation
      return (...args: unknown[]) => {
        if (dead && name !== 'close') return Promise.reject(new ProcessDied())
        return (operation as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  return { store, died, writes }
}
