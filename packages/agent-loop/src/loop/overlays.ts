import type { Message } from '@bowline/llm'
import type { Overlay, StoredMessage } from '../journal/journal.ts'

/** What the model is shown for this turn only. Where an overlay was put it stays: no earlier content moves. */
export class Overlays {
  readonly #entries: Overlay[]

  constructor(entries: readonly Overlay[] = []) {
    this.#entries = [...entries]
  }

  get count(): number {
    return this.#entries.length
  }

  get messages(): readonly Message[] {
    return this.#entries.map(messageOf)
  }

  add(overlay: Overlay): void {
    this.#entries.push(overlay)
  }

  /** The view with every overlay behind its anchor. One whose anchor is not shown any more stands above all that is stored. */
  into(view: readonly Message[]): readonly Message[] {
    if (this.#entries.length === 0) return view
    const shown = new Set(view.map(({ id }) => id))
    const top = this.#entries.filter(({ anchor }) => !shown.has(anchor)).map(messageOf)
    const result: Message[] = []
    for (const message of view) {
      // Only a summary has no id, and it stands first.
      if (message.id !== undefined) result.push(...top.splice(0))
      result.push(message)
      for (const overlay of this.#entries) if (overlay.anchor === message.id) result.push(messageOf(overlay))
    }
    return [...result, ...top]
  }
}

function messageOf({ content }: Overlay): Message {
  return { role: 'user', content }
}

/** Behind which message an overlay stands: directly above the turn's input until the model has answered, else at the end. */
export function anchorOf(messages: readonly StoredMessage[], inputId: string | undefined, answered: boolean): string {
  const input = answered ? -1 : messages.findLastIndex(({ id }) => id === inputId)
  const place = input === -1 ? messages.length : input
  return messages[place - 1]?.id ?? ''
}
