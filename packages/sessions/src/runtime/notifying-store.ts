import type { Batch, CommitResult } from '../contract/batch.ts'
import type { NoticeHook } from '../contract/notices.ts'
import type { SessionStore } from '../contract/session-store.ts'

/** The store for all commits of a runtime: each names the webhooks that are told of it. `onNotices`: a commit has put some. */
export function notifyingStore(store: SessionStore, hooks: readonly NoticeHook[], onNotices: () => void): SessionStore {
  const commit = async (batch: Batch): Promise<CommitResult> => {
    const result = await store.commit(hooks.length === 0 ? batch : notifying(batch, hooks))
    if (result.ok && result.notices) onNotices()
    return result
  }
  const bound = new WeakMap<object, unknown>()
  return new Proxy(store, {
    get(target, name) {
      if (name === 'commit') return commit
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const before = bound.get(value)
      if (before !== undefined) return before
      const method: unknown = value.bind(target)
      bound.set(value, method)
      return method
    },
  })
}

function notifying(batch: Batch, notify: readonly NoticeHook[]): Batch {
  const { deliver } = batch
  return { ...batch, notify, ...(deliver && deliver.length > 0 && { deliver: deliver.map((delivery) => ({ ...delivery, notify })) }) }
}
