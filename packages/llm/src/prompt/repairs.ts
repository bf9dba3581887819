import type { Repair, RepairCode } from '../messages.ts'

/** Gathers what the conversion had to change. */
export class Repairs {
  readonly #list: Repair[] = []

  /** Gives nothing back, which is also what becomes of a part that is left out. */
  add(code: RepairCode, messageIndex: number, toolCallId?: string): undefined {
    this.#list.push({ code, messageIndex, ...(toolCallId && { toolCallId }) })
  }

  /** In the order of the transcript. */
  inOrder(): Repair[] {
    return this.#list.sort((a, b) => a.messageIndex - b.messageIndex)
  }
}
