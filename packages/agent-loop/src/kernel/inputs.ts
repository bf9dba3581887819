import type { UserMessage } from '@bowline/llm'
import type { QueuedInput, StoredMessage } from '../contract/journal.ts'
import type { Window } from '../events/types.ts'
import type { Turn } from './turn.ts'

/** Drafts an input in its stored form at a slot of the turn. */
export function placeInput(turn: Turn, slot: Window, { inputId, source, input }: Omit<QueuedInput, 'input'> & { readonly input: UserMessage }): void {
  const message: StoredMessage & { role: 'user' } = { ...input, id: turn.ids.next('msg'), at: turn.clock.now() }
  turn.log.record({ type: 'runtime-input', inputId, source, placement: slot, message, characters: charactersOf(input.content) })
  turn.append(message)
  // Without another input it is what the turn begins with.
  turn.inputId ??= message.id
}

export function charactersOf(content: UserMessage['content']): number {
  if (typeof content === 'string') return content.length
  return content.reduce((length, part) => length + (part.type === 'text' ? part.text.length : 0), 0)
}
