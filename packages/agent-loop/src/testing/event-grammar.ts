import { isDelta } from '../events/kinds.ts'
import { sumUsage } from '../events/sum-usage.ts'
import type { AgentEvent, DeltaEvent, DurableEvent } from '../events/types.ts'
import type { Usage } from '@bowline/llm'
import { canonicalJson } from '../hash-json.ts'
import { clientCalls } from '../transcript/client-calls.ts'
import { BlockGrammar } from './block-grammar.ts'

interface CallState {
  attempts: number
  running: boolean
  ended: boolean
}

type Named<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>

/** Where in the grammar a log stands. Each event is checked against it and moves it on. */
export class EventGrammar {
  readonly #allDeltas: boolean
  #problems: string[] = []
  #runId: string | undefined
  #turn = 0
  #place: 'idle' | 'input' | 'turn' | 'ended' | 'saved' = 'idle'
  #waits = false
  #stepOpen = false
  #step = 0
  #message: { readonly id: string; readonly blocks: BlockGrammar } | undefined
  #answered = false
  #calls = new Map<string, CallState>()
  #usage: Usage = {}
  #previous: string | undefined

  constructor(allDeltas: boolean) {
    this.#allDeltas = allDeltas
  }

  take(event: AgentEvent): readonly string[] {
    this.#problems = []
    if (event.type === 'session-start' || event.type === 'session-end' || event.type === 'run-queued') return []
    if (event.type !== 'user-message' && event.type !== 'turn-start' && event.runId !== this.#runId) {
      this.#say(`belongs to run ${event.runId}, not to ${this.#runId ?? 'any'}`)
    }
    if (this.#previous === 'turn-end' && event.type !== 'save-point') this.#say('stands between turn-end and save-point')
    if (this.#previous === 'awaiting-tools' && event.type !== 'turn-end') this.#say('stands between awaiting-tools and turn-end')
    if (isDelta(event)) this.#delta(event)
    else this.#durable(event)
    this.#previous = event.type
    return this.#problems
  }

  atEnd(): readonly string[] {
    return this.#place === 'idle' || this.#place === 'saved' ? [] : [`the log stops at ${this.#previous ?? 'its start'}`]
  }

  #say(problem: string): void {
    this.#problems.push(problem)
  }

  #must(holds: boolean, problem: string): void {
    if (!holds) this.#say(problem)
  }

  #delta(event: DeltaEvent): void {
    if (event.type === 'tool-execution-delta') {
      return this.#must(this.#calls.get(event.toolCallId)?.running === true, `${event.toolCallId} is not running`)
    }
    if (this.#message?.id !== event.messageId) return this.#say(`message ${event.messageId} is not open`)
    const problem = this.#message.blocks.check(event)
    if (problem !== undefined) this.#say(problem)
  }

  #durable(event: Exclude<DurableEvent, Named<'session-start' | 'session-end' | 'run-queued'>>): void {
    switch (event.type) {
      case 'user-message':
        return this.#userMessage(event)
      case 'turn-start':
        return this.#turnStart(event)
      case 'step-start':
        return this.#stepStart(event)
      case 'message-start':
        return this.#messageStart(event)
      case 'message-end':
        return this.#messageEnd(event)
      case 'message-discarded':
        this.#must(this.#message?.id === event.messageId, `message ${event.messageId} is not open`)
        this.#message = undefined
        return
      case 'usage':
        this.#must(this.#place === 'turn', 'stands outside of a turn')
        this.#usage = sumUsage(this.#usage, event.usage)
        return
      case 'tool-execution-start':
        return this.#executionStart(event)
      case 'tool-execution-end':
        return this.#executionEnd(event)
      case 'awaiting-tools':
        return this.#awaitingTools(event)
      case 'step-end':
        return this.#stepEnd(event)
      case 'turn-end':
        return this.#turnEnd(event)
      case 'save-point':
        this.#must(this.#previous === 'turn-end', 'does not follow turn-end directly')
        this.#place = 'saved'
        return
      case 'settled':
        this.#must(this.#previous === 'save-point' && !this.#waits, 'does not follow the save-point of an ended turn')
        return
      default: {
        const unknown: never = event
        return unknown
      }
    }
  }

  #userMessage(event: Named<'user-message'>): void {
    this.#must(this.#place === 'idle' || (this.#place === 'saved' && !this.#waits), 'a turn is open')
    this.#must(event.message.id === event.messageId, 'its message has another id')
    this.#runId = event.runId
    this.#place = 'input'
  }

  #turnStart(event: Named<'turn-start'>): void {
    if (event.resumed) {
      const open = this.#place === 'turn' || (this.#place === 'saved' && this.#waits)
      // A log that is read from its middle on may begin here.
      this.#must(open || this.#previous === undefined, 'resumes a turn that is not open')
      this.#must(event.cause !== undefined, 'has no cause')
      for (const call of this.#calls.values()) call.running = false
    } else {
      this.#must(this.#place === 'input' && event.runId === this.#runId, 'does not follow its user-message')
      this.#must(this.#turn === 0 || event.turn === this.#turn + 1, `turn ${event.turn} follows ${this.#turn}`)
      this.#usage = {}
      this.#step = 0
      this.#calls = new Map()
      this.#stepOpen = false
    }
    this.#runId = event.runId
    this.#turn = event.turn
    this.#place = 'turn'
  }

  #stepStart(event: Named<'step-start'>): void {
    this.#must(this.#place === 'turn' && !this.#stepOpen, 'the turn is not between two steps')
    this.#must(event.step === this.#step + 1, `step ${event.step} follows ${this.#step}`)
    this.#step = event.step
    this.#stepOpen = true
    this.#answered = false
    this.#calls = new Map()
  }

  #messageStart(event: Named<'message-start'>): void {
    this.#must(this.#stepOpen && !this.#answered && !this.#message, 'no message may begin here')
    this.#message = { id: event.messageId, blocks: new BlockGrammar() }
  }

  #messageEnd(event: Named<'message-end'>): void {
    this.#must(this.#message?.id === event.messageId && event.message.id === event.messageId, 'another message is open')
    const unfinished = this.#message?.blocks.unfinished ?? []
    if (this.#allDeltas) this.#must(unfinished.length === 0, `blocks ${unfinished.join(', ')} have no end`)
    this.#message = undefined
    this.#answered = true
    this.#usage = sumUsage(this.#usage, event.message.usage)
    for (const { toolCallId } of clientCalls(event.message)) {
      this.#calls.set(toolCallId, { attempts: 0, running: false, ended: false })
    }
  }

  #executionStart(event: Named<'tool-execution-start'>): void {
    const call = this.#calls.get(event.toolCallId)
    if (!call || call.ended || call.running) return this.#say(`${event.toolCallId} cannot start`)
    this.#must(event.attempt === call.attempts + 1, `attempt ${event.attempt} follows ${call.attempts}`)
    call.attempts = event.attempt
    call.running = true
  }

  #executionEnd(event: Named<'tool-execution-end'>): void {
    const call = this.#calls.get(event.toolCallId)
    if (!call) return this.#say(`${event.toolCallId} was not asked for`)
    this.#must(!call.ended, `${event.toolCallId} has ended already`)
    this.#must(event.executed !== 'here' || call.attempts > 0, `${event.toolCallId} never started`)
    this.#must(event.message.toolCallId === event.toolCallId, 'its result belongs to another call')
    call.ended = true
    call.running = false
  }

  #awaitingTools(event: Named<'awaiting-tools'>): void {
    const open = [...this.#calls].filter(([, call]) => !call.ended).map(([id]) => id)
    const listed = event.pendingToolCalls.map((call) => call.toolCallId)
    this.#must(this.#stepOpen && listed.length > 0, 'nothing waits')
    for (const id of listed) this.#must(open.includes(id), `${id} is not open`)
  }

  #stepEnd(event: Named<'step-end'>): void {
    this.#must(this.#stepOpen && !this.#message, 'no step can end here')
    for (const [id, call] of this.#calls) this.#must(call.ended, `${id} has no outcome`)
    this.#must(event.toolCalls === this.#calls.size, `counts ${event.toolCalls} calls of ${this.#calls.size}`)
    this.#stepOpen = false
  }

  #turnEnd(event: Named<'turn-end'>): void {
    this.#waits = event.status === 'awaiting-tools' || event.status === 'needs-recovery'
    this.#must(this.#place === 'turn' && !this.#message, 'no turn can end here')
    this.#must(this.#waits === this.#stepOpen, this.#waits ? 'nothing is open' : 'the step is open')
    this.#must(this.#waits === (this.#previous === 'awaiting-tools'), 'awaiting-tools and status disagree')
    this.#must(event.steps === this.#step, `counts ${event.steps} steps of ${this.#step}`)
    const same = canonicalJson({ ...event.usage }) === canonicalJson({ ...this.#usage })
    this.#must(same, `usage ${JSON.stringify(event.usage)} is not the sum ${JSON.stringify(this.#usage)}`)
    this.#place = 'ended'
  }
}
