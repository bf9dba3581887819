import type { SessionStore, StoreOpenOptions } from '../../../src/contract/session-store.ts'
import type { Runtime } from '../../../src/runtime/types.ts'
import { aroundRuntime } from '../../../../testing/src/around-runtime.ts'
import { aroundStore } from '../../../../testing/src/around-store.ts'
import type { RecordOptions } from './options.ts'
import { Recording } from './recording.ts'
import { recordClientCall } from './runtime-calls.ts'
import { answeredByStore, calledStore } from './store-calls.ts'

/** Recorder of the calls and answers of one process. */
export interface HistoryRecorder {
  /** Wraps the store for the runtime of this process. Records its commits, claims, renewals and reads. */
  store<Store extends SessionStore>(store: Store): Store
  /** Wraps the runtime for the clients of this process. Records inputs, stops, results and reads of its sessions and runs. */
  runtime(runtime: Runtime): Runtime
}

/**
 * Returns a recorder for one process. Wrap both its store and its runtime: a history compares the answers to clients with the
 * stored records.
 */
export function recordHistory(options: RecordOptions): HistoryRecorder {
  const { write, ...rest } = options
  return recorderOf(new Recording({ ...rest, keep: (line) => write(JSON.stringify(line)) }))
}

export function recorderOf(recording: Recording): HistoryRecorder {
  return {
    store(store) {
      let namespace = 'default'
      return aroundStore(store, (operation, args, go) => {
        if (operation === 'open') ({ namespace } = args[0] as StoreOpenOptions)
        const call = calledStore(operation, args)
        return call ? recording.around(namespace, call, go, (answer) => answeredByStore(operation, answer)) : go()
      })
    },
    runtime: (runtime) => aroundRuntime(runtime, (call, go) => recordClientCall(recording, runtime.namespace, call, go)),
  }
}
