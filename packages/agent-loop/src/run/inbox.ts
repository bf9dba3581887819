import type { UserMessage } from '@bowline/llm'
import type { IdSource } from '../base/ids.ts'
import type { Accepted, AgentInput } from '../contract/input.ts'
import type { QueuedInput } from '../contract/journal.ts'
import type { Limits } from '../contract/run.ts'
import type { InputSource } from '../events/turn-events.ts'
import type { InputQueue, Taking } from '../kernel/run-context.ts'
import { userMessageFor } from '../transcript/input.ts'

export type InputKind = InputSource | 'follow-up'

export interface QueuedFollowUp {
  readonly inputId: string
  readonly message: UserMessage
}

interface Offer {
  readonly kind: InputKind
  readonly message: UserMessage
}

interface Entry extends Offer {
  readonly inputId: string
  /** True: it was handed out, and is not stored yet. */
  taken: boolean
}

interface HeldOffer extends Offer {
  readonly resolve: (accepted: Accepted) => void
}

/**
 * `closing`: the commit that ends the turn is in progress, and inputs of the turn wait for its outcome. `between`: the turn has
 * ended, and follow-ups are still accepted. `ended`: the run has ended too.
 */
type State = 'open' | 'closing' | 'between' | 'ended'

const mostOf: Readonly<Record<Taking, number>> = { all: Infinity, 'one-at-a-time': 1, overlays: 0 }

const runEnded: Accepted = { ok: false, reason: 'run-ended' }
const queueFull: Accepted = { ok: false, reason: 'queue-full' }

/** Inputs that a run of this process gets while it is running, in the order of their acceptance. */
export class Inbox implements InputQueue {
  readonly #ids: IdSource
  readonly #limits: Pick<Limits, 'maxQueuedInputs'>
  #state: State = 'open'
  readonly #entries: Entry[] = []
  readonly #held: HeldOffer[] = []

  constructor(ids: IdSource, limits: Pick<Limits, 'maxQueuedInputs'>) {
    this.#ids = ids
    this.#limits = limits
  }

  /** True if inputs wait for a window of the turn. */
  get hasInputs(): boolean {
    return this.#entries.some(({ kind, taken }) => kind !== 'follow-up' && !taken)
  }

  get hasFollowUps(): boolean {
    return this.#entries.some(({ kind, taken }) => kind === 'follow-up' && !taken)
  }

  /** Resolves when the input is accepted or refused. Throws `invalid-input`. */
  offer(kind: InputKind, input: AgentInput): Promise<Accepted> {
    const message = userMessageFor(input)
    if (this.#refuses(kind)) return Promise.resolve(runEnded)
    if (this.#entries.length + this.#held.length >= this.#limits.maxQueuedInputs) return Promise.resolve(queueFull)
    if (this.#state !== 'closing' || kind === 'follow-up') return Promise.resolve(this.#accept({ kind, message }))
    return new Promise((resolve) => this.#held.push({ kind, message, resolve }))
  }

  /**
   * Returns the inputs that a window of the turn takes: all overlays, and of the other inputs all, the first or none. Each input is
   * handed out once, and counts as unused until it is confirmed.
   */
  take(which: Taking): readonly QueuedInput[] {
    let left = mostOf[which]
    const taken: QueuedInput[] = []
    for (const entry of this.#entries) {
      const { kind, inputId, message } = entry
      if (entry.taken || kind === 'follow-up') continue
      if (kind !== 'overlay' && left-- <= 0) continue
      entry.taken = true
      taken.push({ inputId, source: kind, input: message })
    }
    return taken
  }

  /** Returns the next follow-up, which counts as unused until it is confirmed. */
  takeFollowUp(): QueuedFollowUp | undefined {
    const entry = this.#entries.find(({ kind, taken }) => kind === 'follow-up' && !taken)
    if (!entry) return undefined
    entry.taken = true
    return { inputId: entry.inputId, message: entry.message }
  }

  /** Marks an input as stored. Ids from elsewhere change nothing. */
  confirm(inputId: string): void {
    const index = this.#entries.findIndex((entry) => entry.inputId === inputId)
    if (index >= 0) this.#entries.splice(index, 1)
  }

  /** Called when the commit that ends the turn begins. */
  close(): void {
    this.#state = 'closing'
  }

  /** Called if the turn continues after all, or if the turn of a follow-up begins. */
  reopen(): void {
    this.#state = 'open'
    for (const { resolve, ...offer } of this.#held.splice(0)) resolve(this.#accept(offer))
  }

  /** Called when the end of the turn is stored. */
  endTurn(): void {
    this.#state = 'between'
    for (const { resolve } of this.#held.splice(0)) resolve(runEnded)
  }

  /** Ends the inbox: nothing is accepted any more. */
  end(): void {
    this.endTurn()
    this.#state = 'ended'
  }

  /** Ends the inbox, and returns the accepted inputs that are not stored. It must end first: a later input would be lost. */
  unused(): readonly AgentInput[] {
    this.end()
    return this.#entries.map(({ message }) => message)
  }

  #refuses(kind: InputKind): boolean {
    return this.#state === 'ended' || (this.#state === 'between' && kind !== 'follow-up')
  }

  #accept(offer: Offer): Accepted {
    const inputId = this.#ids.next('input')
    this.#entries.push({ ...offer, inputId, taken: false })
    return { ok: true, inputId }
  }
}
