import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { AssistantMessage } from '../messages.ts'

/** What is known of a call before it begins. */
export interface CallFacts {
  readonly messageId: string
  readonly provider: string
  readonly modelId: string
}

/** Somebody who watches one call. Nothing that it does may change the call. */
export interface CallObserver {
  /** Must run `call` once and at once. What `call` starts belongs to what the observer has opened around it. */
  begin(call: () => void): void
  /** The provider is about to be called, which not every call lives to see. */
  called(options: LanguageModelV4CallOptions): void
  /** The call has ended, by whatever cause. Comes once, as the last. */
  ended(message: AssistantMessage): void
}

/** Nobody watches. */
export const unobserved: CallObserver = {
  begin: (call) => call(),
  called() {},
  ended() {},
}
