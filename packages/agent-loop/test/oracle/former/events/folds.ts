import type { DurableEvent } from './types.ts'
import type { RunView } from './view.ts'

/** What an event changes in a view. An `undefined` takes the field away. */
export type Change = { -readonly [Key in keyof RunView]?: RunView[Key] | undefined }

/** One function per event type: a type without its fold does not compile. */
export type Folds<Type extends DurableEvent['type']> = {
  readonly [Each in Type]: (view: RunView, event: Extract<DurableEvent, { type: Each }>) => Change
}

export const unchanged = (): Change => ({})
