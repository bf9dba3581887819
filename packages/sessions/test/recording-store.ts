import type { Batch, CommitResult, SessionStore } from '@bowline/sessions'

export interface RecordedCommit {
  readonly batch: Batch
  readonly result: CommitResult
}

/** Wraps a store, records its commits, and calls `onCommit` before each one. */
export function recordingStore(
  store: SessionStore,
  onCommit: (batch: Batch) => void | Promise<void> = () => undefined,
): SessionStore & { readonly commits: readonly RecordedCommit[]; readonly claims: () => number } {
  const commits: RecordedCommit[] = []
  let claims = 0
  return new Proxy(store, {
    get(target, name) {
      if (name === 'commits') return commits
      if (name === 'claims') return () => claims
      if (name === 'commit') {
        return async (batch: Batch) => {
          await onCommit(batch)
          const result = await target.commit(batch)
          commits.push({ batch, result })
          return result
        }
      }
      if (name === 'claim') {
        return async (request: Parameters<SessionStore['claim']>[0]) => {
          const claimed = await target.claim(request)
          claims += claimed.length
          return claimed
        }
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  }) as SessionStore & { readonly commits: readonly RecordedCommit[]; readonly claims: () => number }
}

/** Returns the types of the events that a batch appends. */
export function eventTypes(batch: Batch): string[] {
  return batch.writes.flatMap((write) => (write.op === 'event.append' ? write.events.map(({ event }) => event.type) : []))
}
