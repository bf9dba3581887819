import { v5 as uuidOfName } from 'uuid'
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

const longestId = 64

/** A call id in a form that every provider takes. The UUID keeps ids apart that differ only in what was replaced. */
export function handedOffId(id: string, origin: Origin): string {
  if (origin.sameProvider || /^[\w-]{1,64}$/.test(id)) return id
  const unique = uuidOfName(id, uuidOfName.URL)
  return `${id.replace(/[^\w-]/g, '_').slice(0, longestId - unique.length - 1)}_${unique}`
}
