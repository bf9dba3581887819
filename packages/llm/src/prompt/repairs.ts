import type { Repair, RepairCode } from '../messages.ts'

/** Collects the changes that the conversion made. */
export class Repairs {
  readonly #list: Repair[] = []

  /** Returns undefined, so that a caller can omit a part and report it in one expression. */
  add(code: RepairCode, messageIndex: number, toolCallId?: string): undefined {
    this.#list.push({ code, messageIndex, ...(toolCallId && { toolCallId }) })
  }

  /** Returns the repairs in transcript order. */
  inOrder(): Repair[] {
    return this.#list.sort((a, b) => a.messageIndex - b.messageIndex)
  }
}
