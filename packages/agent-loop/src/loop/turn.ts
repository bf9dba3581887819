import { addUsage } from '@bowline/llm'
import type { AssistantMessage, Clock, JSONValue, Usage } from '@bowline/llm'
import { AgentError } from '../agent-error.ts'
import type { AgentDefinition } from '../agent/definition.ts'
import type { DeltaEvent, DurableEvent, ModelName } from '../events/types.ts'
import type { IdSource } from '../ids.ts'
import { deepFreeze } from '../json.ts'
import { Draft } from '../journal/draft.ts'
import type { CallRow, Journal, JournalRecord, RunRow, StoredMessage } from '../journal/journal.ts'
import type { EventBuffer } from '../run/event-buffer.ts'
import type { StopSwitch } from '../run/stop-switch.ts'
import type { OnUnknownOutcome } from '../tools/tool.ts'
import { Transcript } from '../transcript/transcript.ts'

/** The durable events that a run makes. */
type RunEvent = Exclude<DurableEvent, { type: 'session-start' | 'session-end' | 'run-queued' }>

/** An event without what the turn adds to it. */
type EventFields<Event> = Event extends unknown ? Omit<Event, 'at' | 'runId' | 'turn' | 'seq'> : never

/** What a run brings along. */
export interface TurnParts {
  readonly agent: AgentDefinition
  readonly journal: Journal
  readonly buffer: EventBuffer
  readonly stop: StopSwitch
  readonly clock: Clock
  readonly ids: IdSource
  readonly source: string
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly sessionKey?: string
  readonly context?: JSONValue
}

/** Where a turn stands when a run takes it up, or begins it. */
export interface TurnStart {
  readonly runId: string
  readonly turn: number
  readonly step: number
  readonly usage: Usage
  readonly messages: readonly StoredMessage[]
}

/** The state of one turn, and the only way to its journal. */
export class Turn {
  readonly agent: AgentDefinition
  readonly stop: StopSwitch
  readonly clock: Clock
  readonly ids: IdSource
  readonly source: string
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly sessionKey: string | undefined
  readonly context: JSONValue | undefined
  readonly runId: string
  readonly number: number
  readonly model: ModelName
  readonly transcript: Transcript
  step: number
  usage: Usage
  /** The message that the model is to write, or writes. */
  messageId = ''
  attempt = 1
  /** Calls of the turn before those of the present answer. */
  earlierCalls = 0
  readonly #buffer: EventBuffer
  readonly #journal: Journal
  readonly #draft: Draft

  /** Throws `invalid-transcript`. */
  constructor(parts: TurnParts, start: TurnStart) {
    this.agent = parts.agent
    this.stop = parts.stop
    this.clock = parts.clock
    this.ids = parts.ids
    this.source = parts.source
    this.onUnknownOutcome = parts.onUnknownOutcome
    this.sessionKey = parts.sessionKey
    this.context = parts.context
    this.runId = start.runId
    this.number = start.turn
    this.step = start.step
    this.usage = start.usage
    this.model = { provider: parts.agent.model.provider, modelId: parts.agent.model.modelId }
    this.transcript = new Transcript(start.messages)
    this.#buffer = parts.buffer
    this.#journal = parts.journal
    this.#draft = new Draft(parts.journal, parts.clock, (event) => parts.buffer.push(event))
  }

  /** Messages of this run that are stored. */
  get newMessages(): readonly StoredMessage[] {
    return this.#draft.appended
  }

  /** Drafts a durable event. */
  record(fields: EventFields<RunEvent>): void {
    this.#draft.add(this.#eventRecord(fields))
  }

  /** Drafts a message at the end of the transcript. */
  append(message: StoredMessage): void {
    this.transcript.append(message)
    this.#draft.add({ type: 'append', message })
  }

  /** Drafts a row of the tool ledger. */
  writeCall(row: CallRow): void {
    this.#draft.add({ type: 'call', call: deepFreeze(row) })
  }

  /** Drafts where the run stands. */
  writeRun(state: RunRow['state'], ending: Omit<RunRow, 'runId' | 'state' | 'turn' | 'step' | 'usage'> = {}): void {
    const { runId, number: turn, step, usage } = this
    this.#draft.add({ type: 'run', run: deepFreeze({ runId, state, turn, step, usage, ...ending }) })
  }

  /** Adds to the turn's usage. */
  book(usage: Usage): void {
    this.usage = addUsage(this.usage, usage)
  }

  /** Stores the draft. Rejects with `AgentError`: the run must then store nothing more. */
  async commit(): Promise<void> {
    this.#checkFence()
    await this.#draft.commit()
  }

  /** Stores the draft as the end of the turn: settled, unless other runs are queued behind it. */
  async commitEnd(): Promise<void> {
    this.#checkFence()
    const settled = this.#eventRecord({ type: 'settled' })
    if (!(await this.#draft.commit({ nothingQueued: true }, [settled]))) await this.commit()
  }

  /** Gives readers a live event. */
  publish(event: DeltaEvent): void {
    Object.freeze(event)
    this.#buffer.push(event)
    this.#journal.publish?.([event])
  }

  /** Drafts the answer of the model. */
  takeAnswer(answer: AssistantMessage): void {
    this.book(answer.usage)
    this.record({ type: 'message-end', step: this.step, messageId: answer.id, message: answer, attempt: this.attempt })
    this.append(answer)
  }

  #eventRecord(fields: EventFields<RunEvent>): JournalRecord {
    const base = { at: this.clock.now(), runId: this.runId, turn: this.number }
    const { type, ...rest } = fields
    return { type: 'event', event: deepFreeze({ type, ...base, ...rest } as DurableEvent) }
  }

  #checkFence(): void {
    if (this.stop.cause?.kind === 'fenced') throw new AgentError('fenced', 'the run belongs to another process')
  }
}
