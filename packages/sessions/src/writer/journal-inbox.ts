import type { AgentInput, QueuedInput, Window } from '@bowline/agent-loop'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import type { InboxKind, InboxRecord } from '../contract/records.ts'
import { announceable, reminderOf } from './reminders.ts'

/** Changes of the inbox rows of an input, in the commit that shows it to the model. */
export interface ConsumedInput {
  readonly take: readonly string[]
  readonly patch: readonly InboxRecord[]
}

/** Kinds of rows that the loop gets as inputs of a turn. */
export const inputKinds = ['steer', 'overlay', 'child-settled'] as const satisfies readonly InboxKind[]

/** Inputs for the active run in the inbox of its session, in the form of the loop. */
export class JournalInbox {
  readonly #store: SessionStore
  readonly #key: string
  readonly #runId: string
  readonly #readsStepEnds: boolean
  readonly #given = new Map<string, ConsumedInput>()
  /** Reminders that were given, by inbox row. */
  readonly #announced = new Map<string, QueuedInput>()
  /** Rows from the claim, until a commit may have taken some of them. */
  #claimed: readonly InboxRecord[] | undefined
  /** True after the store refused the end of the turn because of unseen rows. */
  #hasUnseen = false

  /** `readsStepEnds`: a reader may give an input at the end of a step, while the run waits for it. */
  constructor(store: SessionStore, { run, session, inbox }: Claim, readsStepEnds = false) {
    this.#store = store
    this.#readsStepEnds = readsStepEnds
    this.#key = session.key
    this.#runId = run.id
    this.#claimed = inbox.filter(({ kind }) => inputKinds.some((each) => each === kind))
  }

  /** Changes of the rows of each given input, by input id. */
  get given(): ReadonlyMap<string, ConsumedInput> {
    return this.#given
  }

  stored(): void {
    this.#claimed = undefined
    this.#hasUnseen = false
  }

  refused(): void {
    this.#hasUnseen = true
  }

  /**
   * Returns the inputs in order of acceptance. Given inputs that were not taken yet are given again unchanged. Reads the store
   * before each model call, and at the end of a step only for a reader: the next step reads it, and the commit that ends the turn
   * is refused if steered rows wait.
   */
  async waiting(window: Window, max: number): Promise<readonly QueuedInput[]> {
    if (window === 'step-end' && !this.#hasUnseen && !this.#readsStepEnds) return []
    const rows = window === 'turn-start' && this.#claimed ? this.#claimed : await this.#store.readInbox(this.#key, inputKinds)
    if (rows.length === 0) return []
    const inputs = rows.flatMap((row) => this.#inputOf(row) ?? [])
    return [...inputs, ...(await this.#reminders(rows))].slice(0, max)
  }

  #inputOf(row: InboxRecord): QueuedInput | undefined {
    if (row.kind !== 'steer' && row.kind !== 'overlay') return undefined
    const { inputId, input } = row.body
    // Input for an ended run becomes a run of its own.
    if (row.kind === 'steer' && row.body.runId !== this.#runId) return undefined
    // An overlay is shown once per turn: the turn state keeps a taken one.
    if (row.kind === 'overlay' && row.body.takenBy === this.#runId) return undefined
    this.#given.set(inputId, this.#afterwards(row))
    return { inputId, source: row.kind, input: input as unknown as AgentInput }
  }

  #afterwards(row: Extract<InboxRecord, { readonly kind: 'steer' | 'overlay' }>): ConsumedInput {
    if (row.kind === 'steer' || row.body.turns === 1) return consumedInput(row, this.#runId)
    return { take: [], patch: [{ ...row, body: { ...row.body, turns: row.body.turns - 1, takenBy: this.#runId } }] }
  }

  async #reminders(rows: readonly InboxRecord[]): Promise<readonly QueuedInput[]> {
    const settled = rows.filter((row) => row.kind === 'child-settled')
    const again = new Set(settled.flatMap((row) => this.#announced.get(row.id) ?? []))
    const isNew = (row: InboxRecord): boolean => !this.#announced.has(row.id)
    const fresh = settled.some(isNew) ? (await announceable(this.#store, this.#key)).filter(isNew) : []
    const [first] = fresh
    if (!first) return [...again]
    const inputId = `reminder:${first.id}`
    const reminder: QueuedInput = { inputId, source: 'notify', input: reminderOf(fresh.map((row) => row.body)) }
    this.#given.set(inputId, { take: fresh.map((row) => row.id), patch: [] })
    for (const row of fresh) this.#announced.set(row.id, reminder)
    return [...again, reminder]
  }
}

/** Keeps the id of a named input, so that a repeat is recognised. Drops the text. */
export function consumedInput(
  { id, at, body }: Extract<InboxRecord, { readonly kind: 'steer' | 'overlay' }>,
  runId: string,
): ConsumedInput {
  const { inputId, hash } = body
  return hash === undefined ? { take: [id], patch: [] } : { take: [], patch: [{ id, at, kind: 'taken', body: { inputId, hash, runId } }] }
}
