import type { AssistantMessage, ProviderMetadata } from '../messages.ts'
import { isCutShort } from './kept-share.ts'
import type { ToPromptOptions } from './options.ts'
import { vendorRulesOf } from './vendor-rules.ts'

/** Relation of an assistant message to the called model. */
export interface Origin {
  /** Whether the called model wrote it and accepts its own metadata back. Then everything is sent unchanged. */
  readonly same: boolean
  /** Whether the called provider wrote it. Then its call ids have that provider's form. */
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

/** Returns the metadata to send with a part: only to the model that produced it. */
export function sentMetadata(metadata: ProviderMetadata | undefined, origin: Origin): { providerOptions?: ProviderMetadata } {
  return origin.same && metadata ? { providerOptions: metadata } : {}
}
