import type { DeltaBatch, DeltaStore, SessionStore, StoreHint } from '../../src/contract/session-store.ts'

/** Deltas that several runtimes share, as in a store for many processes. */
export interface SharedDeltas {
  /** Wraps the store of one runtime. */
  over(store: SessionStore): SessionStore
  /** All pushed deltas, dropped ones included. */
  readonly pushed: DeltaBatch[]
  /** Returns how often deltas were read. */
  reads(): number
  /** True if other runtimes are notified of pushes. */
  tells: boolean
  /** True if other runtimes are notified of commits. */
  tellsCommits: boolean
  /** A push waits for this promise. */
  hold: Promise<unknown> | undefined
}

export function sharedDeltas(): SharedDeltas {
  const kept = new Map<string, DeltaBatch[]>()
  const listeners = new Set<(hint: StoreHint) => void>()
  const pushed: DeltaBatch[] = []
  let reads = 0
  const shared: SharedDeltas = { over, pushed, reads: () => reads, tells: true, tellsCommits: true, hold: undefined }

  function deltasOf(store: SessionStore, spaceOf: (key: string) => string): DeltaStore {
    return {
      async push(batch) {
        pushed.push(batch)
        await shared.hold
        const run = await store.readRun(batch.runId)
        if (run.status === 'missing' || run.value.status !== 'running' || run.value.epoch !== batch.epoch) return
        const space = spaceOf(batch.key)
        kept.set(space, [...(kept.get(space) ?? []), structuredClone(batch)])
        if (shared.tells) for (const listener of listeners) listener({ key: batch.key, wake: false, deltas: true })
      },
      async read(key, { base, n }) {
        reads += 1
        const batches = kept.get(spaceOf(key)) ?? []
        return batches.filter((batch) => batch.base > base || (batch.base === base && batch.n + batch.events.length - 1 > n))
      },
    }
  }

  function over(store: SessionStore): SessionStore {
    let namespace = ''
    const spaceOf = (key: string): string => `${namespace} ${key}`
    const deltas = deltasOf(store, spaceOf)
    const own: Partial<SessionStore> = {
      deltas,
      async open(options) {
        namespace = options.namespace
        await store.open(options)
      },
      async commit(batch) {
        const result = await store.commit(batch)
        const replaces = batch.expect.some(({ that }) => that === 'fence') || batch.writes.some(({ op }) => op === 'session.delete')
        if (result.ok && replaces) kept.delete(spaceOf(batch.key))
        return result
      },
      subscribe(listener) {
        listeners.add(listener)
        const end = store.subscribe((hint) => shared.tellsCommits && listener(hint))
        return () => {
          listeners.delete(listener)
          end()
        }
      },
    }
    return new Proxy(store, { get: (target, name) => Reflect.get(name in own ? own : target, name) as unknown })
  }
  return shared
}
