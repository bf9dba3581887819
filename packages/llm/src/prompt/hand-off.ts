import type { AssistantMessage, ProviderMetadata } from '../messages.ts'
import { isCutShort } from './kept-share.ts'
import type { ToPromptOptions } from './options.ts'
import { vendorRulesOf } from './vendor-rules.ts'

/** How an assistant message stands to the model that will read it. */
export interface Origin {
  /** The called model wrote it and still knows what it said of it: everything goes back as it came. */
  readonly same: boolean
  /** The same provider wrote it: its call ids are in that provider's form. */
  readonly sameProvider: boolean
}

const stranger: Origin = { same: false, sameProvider: false }
const sibling: Origin = { same: false, sameProvider: true }
const self: Origin = { same: true, sameProvider: true }

export function originOf(message: AssistantMessage, target: ToPromptOptions['model']): Origin {
  if (message.provider !== target.provider) return stranger
  if (message.modelId !== target.modelId) return sibling
  return isCutShort(message) && vendorRulesOf(target.provider).forgetsCutAnswers ? sibling : self
}

/** Metadata to send along with a part: only to the model that gave it. */
export function sentMetadata(
  metadata: ProviderMetadata | undefined,
  origin: Origin,
): { providerOptions?: ProviderMetadata } {
  return origin.same && metadata ? { providerOptions: metadata } : {}
}
