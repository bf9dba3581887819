import { SessionError, type Batch, type ClaimRequest, type SessionStore } from '@bowline/sessions'
import { eventTypes } from '../recording-store.ts'

/** What befalls the process, or the store, at one of the writes of a scenario. */
export type Fault = 'dies-before' | 'dies-after' | 'fails-before' | 'fails-after'

export interface FaultPoint {
  /** Which write, from 1. Claims count when they claim something. */
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
  /** Settles when the process dies: from then on it reaches the store no more. */
  readonly died: Promise<'died'>
  readonly writes: readonly Write[]
}

/** A store at which a process dies at one write, or which fails once and says so, without saying what it did. */
export function dyingStore(inner: SessionStore, point?: FaultPoint): DyingStore {
  const writes: Write[] = []
  const { promise: died, resolve } = Promise.withResolvers<'died'>()
  let dead = false

  function strike(write: number, when: 'before' | 'after'): void {
    if (write !== point?.write || !point.fault.endsWith(when)) return
    if (point.fault.startsWith('fails')) throw new SessionError('store-unavailable', 'The store was away for a moment.')
    dead = true
    resolve('died')
    throw new ProcessDied()
  }
  const operations = {
    async commit(batch: Batch) {
      // Others may write while this one is under way.
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
