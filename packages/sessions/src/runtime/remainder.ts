import type { DefinitionDiff } from '../contract/definition-diff.ts'
import type { LostRunEnd } from '../writer/close-run.ts'

/** Work that remains for the runtime after an execution. The loop ends most runs itself. */
export type Remainder =
  | { readonly kind: 'nothing' }
  /** The run has ended, and with it all that was queued or waiting in its session. */
  | { readonly kind: 'settled' }
  | { readonly kind: 'finalize' }
  | { readonly kind: 'give-back' }
  /** Nothing may be written, or the store is away for now: the claim of a lost run counts the loss, and waits longer each time. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'refuse'; readonly diff: DefinitionDiff }
  | ({ readonly kind: 'end' } & LostRunEnd)

export const notWritten = { code: 'store-unavailable', message: 'The run could not be read or written.' } as const
