import { aroundStore } from '../../../../testing/src/around-store.ts'
import type { CrashProcess } from '../../../../testing/src/crash-kit/crash-process.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import type { StateStore } from '../../../src/contract/state-store.ts'
import type { StoreGate } from './store-gate.ts'

/**
 * Wraps the store for one process of a program, with all calls through the gate. The store itself stays open between processes:
 * `open` and `close` do nothing, but are points at which a process can be disturbed.
 */
export function processStore(gate: StoreGate, process: CrashProcess, current: () => SessionStore): SessionStore {
  const latest = new Proxy({} as SessionStore, {
    has: (_target, name) => name in current(),
    get(_target, name) {
      const member: unknown = Reflect.get(current(), name)
      if (name === 'subscribe') return (listener: Parameters<SessionStore['subscribe']>[0]) => subscribe(process, current(), listener)
      if (name === 'state') return gatedState(gate, process, member as StateStore)
      return typeof member === 'function'
        ? (...args: unknown[]) => (member as (...given: unknown[]) => unknown).apply(current(), args)
        : member
    },
  })
  return aroundStore(latest, (operation, args, go) =>
    gate.ask(process, operation, args, operation === 'open' || operation === 'close' ? async () => undefined : go),
  )
}

/** Subscribes until the process is dead. */
function subscribe(process: CrashProcess, store: SessionStore, listener: Parameters<SessionStore['subscribe']>[0]): () => void {
  const forget = store.subscribe((hint) => {
    if (process.state === 'dead') forget()
    else listener(hint)
  })
  return forget
}

function gatedState(gate: StoreGate, process: CrashProcess, state: StateStore): StateStore {
  return new Proxy(state, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) =>
        gate.ask(process, 'state', args, async () => (member as (...given: unknown[]) => unknown).apply(target, args))
    },
  })
}
