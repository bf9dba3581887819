import { forwardedState } from '../contract/checked-calls.ts'
import type { OpenableStateStore, StateSearch, StateStore } from '../contract/state-store.ts'
import { SessionError } from '../errors.ts'

/** An open database, used for states only. */
export interface OpenStates {
  readonly state: StateStore
  close(): Promise<void>
}

/** Creates a state store that opens its database at the first call. If that fails, the next call tries again. */
export function openableStateStore(name: string, kind: StateSearch['kind'], open: () => Promise<OpenStates>): OpenableStateStore {
  let opening: Promise<OpenStates> | undefined
  let isClosed = false

  async function states(): Promise<StateStore> {
    if (isClosed) throw new SessionError('store-unavailable', `The ${name} state store is closed. Create another one.`)
    const opened = (opening ??= open())
    try {
      return (await opened).state
    } catch (error) {
      if (opening === opened) opening = undefined
      throw error
    }
  }
  async function index(): Promise<StateSearch> {
    const { search } = await states()
    if (!search) throw new TypeError(`The ${name} state store has no index of words.`)
    return search
  }
  return {
    ...forwardedState(states),
    open: async () => void (await states()),
    search: {
      kind,
      find: async (...given) => (await index()).find(...given),
      count: async (...given) => (await index()).count(...given),
    },
    async close() {
      if (isClosed) return
      isClosed = true
      const opened = await opening?.catch(() => undefined)
      await opened?.close()
    },
  }
}
