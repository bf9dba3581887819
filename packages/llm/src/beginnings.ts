import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { Message, Repair } from './messages.ts'

/** The converted start of a conversation. It grows with the conversation. */
export interface Beginning {
  /** Model and history options. Other options give another prompt for the same messages. */
  readonly key: string
  readonly messages: Message[]
  readonly prompt: LanguageModelV4Message[]
  readonly repairs: Repair[]
  readonly callIds: Set<string>
}

/** Converted starts by their last message. */
export const beginnings = new WeakMap<Message, Beginning>()

/** Returns how many messages, from the first one, an earlier call has converted. They were checked, and cannot have changed since. */
export function knownStart(messages: readonly Message[]): number {
  return knownBeginning(messages)?.messages.length ?? 0
}

/** Returns the longest known start of these messages. `key`: for this model and these options only. */
export function knownBeginning(messages: readonly Message[], key?: string): Beginning | undefined {
  for (let place = messages.length - 1; place >= 0; place--) {
    const known = beginnings.get(messages[place] as Message)
    if (known && (key ?? known.key) === known.key && known.messages.length === place + 1 && isSame(known.messages, messages)) return known
  }
  return undefined
}

function isSame(beginning: readonly Message[], messages: readonly Message[]): boolean {
  for (let place = 0; place < beginning.length; place++) if (beginning[place] !== messages[place]) return false
  return true
}
