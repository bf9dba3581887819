import type { DeltaEvent } from '../../events/types.ts'

type BlockEvent = Exclude<DeltaEvent, { type: 'tool-execution-delta' }>

/** The deltas of one message: per block a start, its deltas and one end, told apart by index. */
export class BlockGrammar {
  readonly #open = new Map<number, string>()
  #count = 0

  /** What is wrong with the event as the next one. */
  check(event: BlockEvent): string | undefined {
    if (event.type === 'content-part') return this.#checkPart(event.index)
    const place = event.type.lastIndexOf('-')
    const [kind, stage] = [event.type.slice(0, place), event.type.slice(place + 1)]
    if (stage === 'start') return this.#checkStart(event.index, kind)
    if (this.#open.get(event.index) !== kind) return `no ${kind} block ${event.index} is open`
    if (stage === 'end') this.#open.delete(event.index)
    return undefined
  }

  /** Indexes of blocks without an end. */
  get unfinished(): readonly number[] {
    return [...this.#open.keys()]
  }

  #checkStart(index: number, kind: string): string | undefined {
    if (index !== this.#count) return `block ${index} begins where ${this.#count} is next`
    this.#count++
    this.#open.set(index, kind)
    return undefined
  }

  /** A part may replace an earlier one of its index. */
  #checkPart(index: number): string | undefined {
    if (index > this.#count) return `part ${index} stands where ${this.#count} is next`
    if (index === this.#count) this.#count++
    return undefined
  }
}
