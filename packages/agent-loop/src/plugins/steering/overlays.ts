import type { Message, UserMessage } from '@bowline/llm'
import { deepFreeze } from '../../base/json.ts'
import type { Overlay } from '../../contract/journal.ts'

interface Entry {
  readonly overlay: Overlay
  /** The same object for all requests, so that it is converted once. */
  readonly message: UserMessage
}

/** A view with the overlays in it, up to the message number `taken`. */
interface Placed {
  readonly view: readonly Message[]
  taken: number
  readonly result: Message[]
  /** Overlays that are shown above everything but a summary, until they are placed. */
  readonly top: Message[]
  readonly anchors: ReadonlyMap<string | undefined, readonly Message[]>
}

/** Messages that the model is shown for this turn only. An overlay keeps its place, so that no earlier content moves. */
export class Overlays {
  #entries: readonly Entry[]
  /** Result for the previous request's view; undefined after an overlay was added or moved. */
  #placed: Placed | undefined

  constructor(overlays: readonly Overlay[] = []) {
    this.#entries = overlays.map(entryOf)
  }

  get count(): number {
    return this.#entries.length
  }

  get messages(): readonly UserMessage[] {
    return this.#entries.map(({ message }) => message)
  }

  add(overlay: Overlay): void {
    this.#entries = [...this.#entries, entryOf(overlay)]
    this.#placed = undefined
  }

  /**
   * Moves overlays whose message is withdrawn from the view: they are shown after the last remaining message before it. Returns the
   * moved overlays.
   */
  withdrawn(messageIds: readonly string[], view: readonly Message[]): readonly Overlay[] {
    const gone = new Set<string | undefined>(messageIds)
    const moved = new Map<Overlay, Overlay>()
    for (const { overlay } of this.#entries) {
      if (!gone.has(overlay.anchor)) continue
      const place = view.findIndex(({ id }) => id === overlay.anchor)
      const anchor = view.slice(0, Math.max(0, place)).findLast(({ id }) => !gone.has(id))?.id ?? ''
      moved.set(overlay, { ...overlay, anchor })
    }
    this.#placed = undefined
    if (moved.size > 0) this.#entries = this.#entries.map(({ overlay, message }) => ({ overlay: moved.get(overlay) ?? overlay, message }))
    return [...moved.values()]
  }

  /**
   * Returns the view with every overlay after its anchor. An overlay whose anchor is not shown any more is shown above everything
   * but a summary. While the view grows, only new messages are added: the array returned before grows too.
   */
  into(view: readonly Message[], summaryId?: string): readonly Message[] {
    if (this.#entries.length === 0) return view
    const placed = this.#placed?.view === view && this.#placed.taken <= view.length ? this.#placed : this.#place(view)
    this.#placed = placed
    const { result, top, anchors } = placed
    for (; placed.taken < view.length; placed.taken++) {
      const message = view[placed.taken]
      if (!message) continue
      if (message.id !== summaryId && top.length > 0) result.push(...top.splice(0))
      result.push(message, ...(anchors.get(message.id) ?? []))
    }
    return top.length > 0 ? [...result, ...top] : result
  }

  #place(view: readonly Message[]): Placed {
    return { view, taken: 0, result: [], ...this.#byAnchor(new Set(view.map(({ id }) => id))) }
  }

  #byAnchor(shown: ReadonlySet<string | undefined>): {
    readonly top: Message[]
    readonly anchors: ReadonlyMap<string | undefined, Message[]>
  } {
    const top: Message[] = []
    const anchors = new Map<string | undefined, Message[]>()
    for (const { overlay, message } of this.#entries) {
      const { anchor } = overlay
      if (!shown.has(anchor)) top.push(message)
      else anchors.set(anchor, [...(anchors.get(anchor) ?? []), message])
    }
    return { top, anchors }
  }
}

function entryOf(overlay: Overlay): Entry {
  return { overlay, message: deepFreeze({ role: 'user' as const, content: overlay.content }) }
}

/**
 * Returns the id of the message after which an overlay is shown: directly above the turn's input until the model has answered, else
 * at the end.
 */
export function anchorOf(view: readonly Message[], inputId: string | undefined, answered: boolean): string {
  const input = answered || inputId === undefined ? -1 : view.findLastIndex(({ id }) => id === inputId)
  const place = input === -1 ? view.length : input
  return view[place - 1]?.id ?? ''
}
