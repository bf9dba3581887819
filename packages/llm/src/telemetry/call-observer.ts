import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { AssistantMessage } from '../messages.ts'

/** Facts about a call before it begins. */
export interface CallFacts {
  readonly messageId: string
  readonly provider: string
  readonly modelId: string
}

/** Observer of one call. It must not change the call. */
export interface CallObserver {
  /** Must run `call` exactly once, synchronously. Spans that `call` starts belong to the span opened around it. */
  begin(call: () => void): void
  /** Called before the provider is called. Some calls end before that. */
  called(options: LanguageModelV4CallOptions): void
  /** Called once at the end of the call, whatever the cause. */
  ended(message: AssistantMessage): void
}

/** An observer that does nothing. */
export const unobserved: CallObserver = {
  begin: (call) => call(),
  called() {},
  ended() {},
}
