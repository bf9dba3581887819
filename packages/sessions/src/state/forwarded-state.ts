import { checkedStateStore } from '../contract/checked-calls.ts'
import type { StateStore } from '../contract/state-store.ts'

/** The state store of a session store that is opened later. `current` throws as long as it is not open. */
export function forwardedState(current: () => StateStore): StateStore {
  return checkedStateStore({
    get: async (...given) => current().get(...given),
    compareAndSet: async (...given) => current().compareAndSet(...given),
    touch: async (...given) => current().touch(...given),
    delete: async (...given) => current().delete(...given),
    list: async (...given) => current().list(...given),
    sweep: async (...given) => current().sweep(...given),
    close: async () => undefined,
  })
}
