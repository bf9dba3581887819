import { emptyView, isSuspended } from '@bowline/agent-loop/events'
import type { RunView } from '@bowline/agent-loop/events'
import { foldEvent } from '@bowline/client'
import type { ClientEvent, ClientSession } from '@bowline/client'
import { questionsOf } from './questions.ts'
import type { Question } from './questions.ts'

export interface ConversationListener {
  readonly onEvent: (event: ClientEvent) => void
  /** Called when no work is running: the next input is expected. */
  readonly onRest: () => void
  /** Called when the connection is lost and is being retried. */
  readonly onWaiting: () => void
  /** Called when the conversation cannot continue. */
  readonly onLost: (error: unknown) => void
}

const busyStates: readonly (string | undefined)[] = ['queued', 'running', 'waiting-for-retry', 'waiting-for-subagent']

/** State of a session, folded from its events. They are read from the first input on, or from `open`. */
export class Conversation {
  readonly session: ClientSession
  hasBegun = false
  readonly #listener: ConversationListener
  readonly #reading = new AbortController()
  readonly #ended = new Set<string>()
  readonly #answered = new Set<string>()
  #view: RunView = emptyView
  #turns = 0
  /** Events to wait for before the session counts as idle: the end of a run, or a number of turn starts. */
  #expected: { readonly run?: string | undefined; readonly turns?: number } = {}
  #sending = false
  /** True after the end of a turn: its compaction or its queued inputs may follow. */
  #settling = false
  #wake: () => void = () => undefined

  constructor(session: ClientSession, listener: ConversationListener) {
    this.session = session
    this.#listener = listener
  }

  /** Opens an existing session without showing its earlier events. Rejects if it does not exist. */
  async open(): Promise<void> {
    const { cursor } = await this.session.state({ limit: 1 })
    this.hasBegun = true
    this.#read(Number.parseInt(cursor, 10))
  }

  /** Open questions, without those that were answered here. */
  get questions(): readonly Question[] {
    return questionsOf(this.#view).filter(({ id }) => !this.#answered.has(id))
  }

  get status(): string {
    return this.#view.outcome ?? this.#view.status ?? 'idle'
  }

  get isBusy(): boolean {
    const { run, turns = 0 } = this.#expected
    const isAwaited = this.#sending || (run !== undefined && !this.#ended.has(run)) || this.#turns < turns
    return isAwaited || this.#settling || busyStates.includes(this.#view.status)
  }

  /** Resolves when no work is running. */
  async rest(): Promise<void> {
    while (this.isBusy && !this.#reading.signal.aborted) await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  /** Sends an input. Resolves when it is accepted, and rejects with the reason if it is not. */
  async send(text: string): Promise<void> {
    const onBusy = this.questions.length > 0 ? 'interrupt' : this.isBusy ? 'steer' : 'queue'
    this.#sending = true
    try {
      const accepted = await this.session.send(text, { onBusy, metadata: { title: text.slice(0, 80) } }).accepted()
      if (!accepted.ok) throw new Error(accepted.error.message)
      this.#expected = { run: accepted.runId }
    } finally {
      this.#sending = false
    }
    if (!this.hasBegun) this.#read(0)
    this.hasBegun = true
  }

  /** Answers a question. Resolves with false if the line is not a valid answer. */
  async answer(question: Question, line: string): Promise<boolean> {
    const turns = this.#turns + 1
    if (!(await question.answer(line, this.session))) return false
    this.#answered.add(question.id)
    // After the last answer the run continues.
    if (this.questions.length === 0) this.#expected = { turns }
    return true
  }

  close(): void {
    this.#reading.abort()
    this.#wake()
  }

  #read(known: number): void {
    const { signal } = this.#reading
    const { onEvent, onLost, onRest, onWaiting } = this.#listener
    const events = this.session.attach({
      from: 'start',
      abortSignal: signal,
      onConnection: ({ state }) => state === 'waiting' && onWaiting(),
    })
    const reading = async (): Promise<void> => {
      for await (const event of events) {
        this.#fold(event)
        if (this.#view.seq <= known) continue
        onEvent(event)
        if (this.isBusy || !(event.type === 'turn-end' || event.type === 'settled')) continue
        onRest()
        this.#wake()
      }
    }
    reading().catch((error: unknown) => {
      if (signal.aborted) return
      this.close()
      onLost(error)
    })
  }

  #fold(event: ClientEvent): void {
    this.#view = foldEvent(this.#view, event)
    if (event.type === 'turn-end') {
      this.#ended.add(event.runId)
      this.#settling = !isSuspended(event.status)
    }
    if (event.type === 'settled' || event.type === 'turn-start') this.#settling = false
    if (event.type === 'turn-start') this.#turns++
  }
}
