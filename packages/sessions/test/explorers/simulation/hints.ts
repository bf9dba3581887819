import type { Batch } from '../../../src/contract/batch.ts'
import type { StoreHint } from '../../../src/contract/session-store.ts'
import { hintsOf } from '../../../src/core/rules.ts'
import type { CrashProcess } from '../../../../testing/src/crash-kit/crash-process.ts'
import type { Network } from './network.ts'

type Listener = (hint: StoreHint) => void

/** Sends hints about commits to the other processes, and to the process itself. */
export class Hints {
  readonly #network: Network
  readonly #listeners = new Map<CrashProcess, Set<Listener>>()

  constructor(network: Network) {
    this.#network = network
  }

  subscribe(process: CrashProcess, listener: Listener): () => void {
    const listeners = this.#listeners.get(process) ?? new Set()
    this.#listeners.set(process, listeners.add(listener))
    return () => void listeners.delete(listener)
  }

  /** Sends the hints after the process has got the answer of its commit. Without an answer there is no hint. */
  tellCommit(process: CrashProcess, batch: Batch): void {
    for (const hint of hintsOf(batch)) this.#tell(process, hint)
  }

  /** Sends the hints after the store has accepted the deltas of the process. */
  tellDeltas(process: CrashProcess, key: string): void {
    this.#tell(process, { key, wake: false, deltas: true })
  }

  #tell(process: CrashProcess, hint: StoreHint): void {
    this.#hear(process, hint)
    for (const other of this.#listeners.keys()) {
      if (other !== process) this.#network.hint(other, { ...hint, elsewhere: true }, (heard) => this.#hear(other, heard))
    }
  }

  #hear(process: CrashProcess, hint: StoreHint): void {
    for (const listener of this.#listeners.get(process) ?? []) listener(hint)
  }
}
