import type { AgentEvent, DeltaEvent } from '../events/types.ts'

/** How many deltas are held, counted by the message or call to which they belong, and which of these have ended. */
export class OpenDeltas {
  readonly #messages = new Map<string, number>()
  readonly #calls = new Map<string, number>()
  readonly #endedMessages = new Set<string>()
  readonly #endedCalls = new Set<string>()
  #held = 0
  #superfluous = 0

  /** A walk over all that is held pays only when at least half of it can go. */
  get isWorthDropping(): boolean {
    return this.#superfluous > 0 && this.#superfluous * 2 >= this.#held
  }

  add(delta: DeltaEvent): void {
    this.#held++
    if (delta.type === 'tool-execution-delta') countUp(this.#calls, delta.toolCallId)
    else countUp(this.#messages, delta.messageId)
  }

  /** Takes note of a message or call whose deltas the event makes superfluous. */
  end(event: AgentEvent): void {
    switch (event.type) {
      case 'message-end':
      case 'message-discarded':
        return this.#end(this.#messages, this.#endedMessages, event.messageId)
      case 'tool-execution-end':
        return this.#end(this.#calls, this.#endedCalls, event.toolCallId)
      default:
        return
    }
  }

  isSuperfluous(delta: DeltaEvent): boolean {
    if (delta.type === 'tool-execution-delta') return this.#endedCalls.has(delta.toolCallId)
    return this.#endedMessages.has(delta.messageId)
  }

  /** What was superfluous is no longer held. */
  forgetEnded(): void {
    this.#held -= this.#superfluous
    this.#superfluous = 0
    this.#endedMessages.clear()
    this.#endedCalls.clear()
  }

  #end(counts: Map<string, number>, ended: Set<string>, key: string): void {
    const count = counts.get(key)
    if (count === undefined) return
    counts.delete(key)
    ended.add(key)
    this.#superfluous += count
  }
}

function countUp(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
