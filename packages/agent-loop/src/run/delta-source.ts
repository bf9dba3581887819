import type { DeltaEvent } from '../events/agent-event.ts'
import { patchOutput } from '../events/output.ts'

type TextDelta = Extract<DeltaEvent, { delta: string }>
type Start = Extract<DeltaEvent, { type: `${string}-start` }>

/** The open message or running call to which deltas belong. */
export class DeltaSource {
  /** A `messageId` or a `toolCallId`. */
  readonly id: string
  readonly isCall: boolean
  /** True once the durable event with the complete content has come. */
  isClosed = false
  /** Deltas that are kept as events, in order. */
  stretches: Stretch[] = []
  /** Blocks by index. A call has one. */
  readonly #blocks = new Map<number, BlockSoFar>()
  #latest: BlockSoFar | undefined
  /** Number of stretches that are folded into the blocks, and number of folded deltas of the next stretch. */
  #foldedStretches = 0
  #foldedDeltas = 0

  constructor(id: string, isCall: boolean) {
    this.id = id
    this.isCall = isCall
  }

  /** Keeps the facts of the delta that a late reader needs, and not the delta. */
  fold(delta: DeltaEvent): void {
    const index = delta.type === 'tool-execution-delta' ? 0 : delta.index
    const block = this.#latest?.index === index ? this.#latest : this.#blockAt(index)
    block.fold(delta)
  }

  /** Returns everything so far, as one delta per block or call. */
  eventsSoFar(): readonly DeltaEvent[] {
    this.#foldKept()
    return [...this.#blocks.values()].flatMap((block) => block.events())
  }

  /** Folds the deltas that are kept as events. The caller must unlink the returned stretches. */
  release(): readonly Stretch[] {
    this.#foldKept()
    this.#foldedStretches = this.#foldedDeltas = 0
    const released = this.stretches
    this.stretches = []
    return released
  }

  #foldKept(): void {
    const { stretches } = this
    for (let place = this.#foldedStretches; place < stretches.length; place++) {
      const { deltas } = stretches[place] as Stretch
      const from = place === this.#foldedStretches ? this.#foldedDeltas : 0
      for (let index = from; index < deltas.length; index++) this.fold(deltas[index] as DeltaEvent)
      // The last stretch may still grow.
      this.#foldedStretches = place
      this.#foldedDeltas = deltas.length
    }
  }

  #blockAt(index: number): BlockSoFar {
    const block = this.#blocks.get(index) ?? new BlockSoFar(index)
    this.#blocks.set(index, block)
    this.#latest = block
    return block
  }
}

/** Consecutive deltas of one source: no other event came between them. */
export class Stretch {
  readonly source: DeltaSource
  /** Number of durable events before it. */
  readonly after: number
  deltas: DeltaEvent[] = []
  /** Undefined in the first stretch, which is never unlinked. */
  previous: Stretch | undefined
  next: Stretch | undefined

  constructor(source: DeltaSource, after: number, previous?: Stretch) {
    this.source = source
    this.after = after
    this.previous = previous
    if (previous) previous.next = this
  }

  /** Removes the stretch from the list. A reader in it continues after `previous`. */
  unlink(): void {
    if (this.previous) this.previous.next = this.next
    if (this.next) this.next.previous = this.previous
    this.next = undefined
    this.deltas = []
  }
}

class BlockSoFar {
  readonly index: number
  #start: Start | undefined
  #text = ''
  #latest: TextDelta | undefined
  /** True if a delta has replaced the text before it. */
  #isReplaced = false
  /** The changes of the output so far, as one delta. */
  #output: OutputDelta | undefined
  /** The end of the block, or its whole part. */
  #end: DeltaEvent | undefined

  constructor(index: number) {
    this.index = index
  }

  fold(event: DeltaEvent): void {
    switch (event.type) {
      case 'text-start':
      case 'reasoning-start':
      case 'tool-call-start':
        this.#start = event
        return
      case 'tool-execution-delta':
        if (event.replace) {
          this.#text = ''
          this.#isReplaced = true
        }
        return this.#add(event)
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-call-delta':
        return this.#add(event)
      case 'output-delta':
        this.#output = joined(this.#output, event)
        return
      case 'text-end':
      case 'reasoning-end':
      case 'tool-call-end':
        this.#end = event
        return
      case 'content-part':
        this.#start = this.#latest = undefined
        this.#end = event
        return
      default: {
        const unknown: never = event
        return unknown
      }
    }
  }

  events(): readonly DeltaEvent[] {
    const latest = this.#latest
    return [this.#start, latest && this.#textSoFar(latest), this.#output, this.#end].filter((event) => event !== undefined)
  }

  #add(event: TextDelta): void {
    this.#text += event.delta
    this.#latest = event
  }

  #textSoFar(latest: TextDelta): DeltaEvent {
    if (latest.delta.length === this.#text.length) return latest
    return Object.freeze({ ...latest, delta: this.#text, ...(this.#isReplaced && { replace: true }) })
  }
}

type OutputDelta = Extract<DeltaEvent, { type: 'output-delta' }>

/** Returns one delta with the effect of both. */
function joined(before: OutputDelta | undefined, delta: OutputDelta): OutputDelta {
  const value = patchOutput(patchOutput(undefined, before?.patch ?? []), delta.patch)
  return value === undefined ? delta : Object.freeze({ ...delta, patch: [{ path: [], value }] })
}
