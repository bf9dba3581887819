import type { DefinitionDiff } from '../contract/definition-diff.ts'
import type { LostRunEnd } from '../writer/close-run.ts'

/** Signals of one execution. */
export interface RunSignals {
  /** Stops the loop. */
  readonly abort: AbortController
  /** Aborted once nothing more can be written. */
  readonly over: AbortSignal
  /** Called when the commit begins that can settle the session. */
  readonly onLastCommit: () => void
  /** Called before each step. */
  readonly beforeStep: () => void
}

/** Work that remains for the runtime after an execution. The loop ends most runs itself. */
export type Remainder =
  | { readonly kind: 'nothing' }
  /** The run has ended, and nothing is queued or waiting in its session. */
  | { readonly kind: 'settled' }
  | { readonly kind: 'finalize' }
  | { readonly kind: 'give-back' }
  /** Nothing may be written, or the store is unavailable. The run is claimed as lost later, and its takeover delay grows with each loss. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'refuse'; readonly diff: DefinitionDiff }
  | ({ readonly kind: 'end' } & LostRunEnd)

export const notWritten = { code: 'store-unavailable', message: 'The store failed while the run was read or written.' } as const
