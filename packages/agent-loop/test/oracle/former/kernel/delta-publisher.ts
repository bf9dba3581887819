import type { BlockEvent } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import type { DeltaEvent } from '../events/types.ts'
import type { CallIds } from './call-ids.ts'
import type { Turn } from './turn.ts'

/** Makes the live events of one message out of what the model streams. Nothing of it grows with the message. */
export class DeltaPublisher {
  readonly #turn: Turn
  readonly #calls: CallIds
  readonly #runId: string
  readonly #number: number
  readonly #step: number
  readonly #messageId: string

  constructor(turn: Turn, calls: CallIds) {
    this.#turn = turn
    this.#calls = calls
    this.#runId = turn.runId
    this.#number = turn.number
    this.#step = turn.step
    this.#messageId = turn.messageId
  }

  publish(event: BlockEvent): void {
    this.#turn.publish(this.#eventOf(event))
  }

  #eventOf(event: BlockEvent): DeltaEvent {
    const at = this.#turn.clock.now()
    const runId = this.#runId
    const turn = this.#number
    const step = this.#step
    const messageId = this.#messageId
    const { index } = event
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return { type: event.type, at, runId, turn, step, messageId, index, delta: event.delta }
      case 'text-start':
      case 'reasoning-start':
        return { type: event.type, at, runId, turn, step, messageId, index }
      case 'text-end':
      case 'reasoning-end':
        return { type: event.type, at, runId, turn, step, messageId, index, text: event.text }
      case 'tool-call-start': {
        const { toolName, providerExecuted = false } = event
        const toolCallId = this.#calls.open(index, event.toolCallId, providerExecuted)
        const base = { type: event.type, at, runId, turn, step, messageId, index, toolCallId, toolName }
        return providerExecuted ? { ...base, providerExecuted } : base
      }
      case 'tool-call-delta': {
        const toolCallId = this.#calls.at(index)
        return { type: event.type, at, runId, turn, step, messageId, index, toolCallId, delta: event.delta }
      }
      case 'tool-call-end': {
        const toolCall = deepFreeze(this.#calls.rename(event.toolCall))
        const { toolCallId } = toolCall
        return { type: event.type, at, runId, turn, step, messageId, index, toolCallId, toolCall }
      }
      case 'content-part':
        return { type: event.type, at, runId, turn, step, messageId, index, part: deepFreeze(event.part) }
      default: {
        const unknown: never = event
        return unknown
      }
    }
  }
}
