import type { AssistantMessage, ProviderMetadata } from '../messages.ts'
import type { ToPromptOptions } from './options.ts'

/** How an assistant message stands to the model that will read it. */
export interface Origin {
  /** The called model wrote it: everything goes back as it came. */
  readonly same: boolean
  /** The same provider wrote it: its call ids are in that provider's form. */
  readonly sameProvider: boolean
}

export function originOf(message: AssistantMessage, target: ToPromptOptions['model']): Origin {
  const sameProvider = message.provider === target.provider
  return { sameProvider, same: sameProvider && message.modelId === target.modelId }
}

/** Metadata to send along with a part: only to the model that gave it. */
export function sentMetadata(
  metadata: ProviderMetadata | undefined,
  origin: Origin,
): { providerOptions?: ProviderMetadata } {
  return origin.same && metadata ? { providerOptions: metadata } : {}
}
