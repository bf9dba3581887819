import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { BridgeEvent, PendingInput, PromptResult, StopReason } from '../agent.ts'
import type { SettledStatus } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { hasSettled, isWaiting, lastText, settledRun } from './run-result.ts'
import type { Settled, TurnEnd } from './run-result.ts'

/** Makes one result of the events of a prompt. A `result` event wins over loop events, those over text deltas. */
export interface ResultCollector {
  /** The agent has said how it ended; what comes after does not count. */
  readonly complete: boolean
  /** UTF-16 units of text so far. */
  readonly chars: number
  /** So far. */
  readonly text: string
  /** Throws when the result grows too large or the event is none. */
  add(event: BridgeEvent): void
  /** Throws when the agent failed. */
  finish(): Settled
  /** The outcome of a cancelled prompt: what had arrived. */
  finishCancelled(): Settled
}

export function collectResult(agentId: string, maxResultBytes: number): ResultCollector {
  let text = ''
  let textBytes = 0
  let loopChars = 0
  let view = emptyView
  let result: PromptResult | undefined
  let turnEnd: TurnEnd | undefined

  function checkSize(bytes: number): void {
    if (bytes <= maxResultBytes) return
    throw new BridgeError('UPSTREAM', `The result of agent ${agentId} is over ${maxResultBytes} bytes`, {
      details: { reason: 'result-too-large', agentId },
    })
  }

  function finish(): Settled {
    const settled = result ? settledResult(result) : view === emptyView ? endedText() : settledRun(view, agentId, turnEnd)
    checkSize(resultBytes(settled.result, agentId))
    return settled
  }

  const endedText = (): Settled => ({ status: 'completed', result: { text, stopReason: 'end_turn' } })

  return {
    get complete() {
      return result !== undefined
    },
    get chars() {
      return text.length + loopChars
    },
    get text() {
      return view === emptyView ? text : lastText(view)
    },
    add(event) {
      switch (event.type) {
        case 'text-delta':
          textBytes += Buffer.byteLength(event.delta)
          checkSize(textBytes)
          text += event.delta
          break
        case 'agent-event':
          view = reduceEvents(view, event.event)
          if (event.event.type === 'turn-end') turnEnd = event.event
          if (event.event.type === 'text-delta') loopChars += event.event.delta.length
          break
        case 'progress':
        case 'needs-input':
          break
        case 'result':
          checkResult(event.result, agentId)
          result = event.result
          break
        default: {
          const unknown: never = event
          throw badEvent(unknown, agentId)
        }
      }
    },
    finish,
    finishCancelled() {
      // A run that ended before the cancel reached it keeps its own end.
      if (hasSettled(view) && !isWaiting(view)) return finish()
      const soFar = result?.text ?? (view === emptyView ? text : lastText(view))
      checkSize(Buffer.byteLength(soFar))
      return { status: 'aborted', result: { text: soFar, stopReason: 'cancelled' } }
    },
  }
}

const statusByStopReason: Readonly<Record<StopReason, SettledStatus>> = {
  end_turn: 'completed',
  max_tokens: 'completed',
  other: 'completed',
  max_turn_requests: 'limit',
  refusal: 'halted',
  cancelled: 'aborted',
  needs_input: 'awaiting-tools',
}

function fault(agentId: string, what: string): BridgeError {
  return new BridgeError('PROTOCOL', `Agent ${agentId} gave ${what}`, { details: { agentId, reason: 'bad-reply' } })
}

function checkResult(result: PromptResult | undefined, agentId: string): void {
  if (typeof result?.text !== 'string') throw fault(agentId, 'a result without text')
  if (Object.hasOwn(statusByStopReason, result.stopReason)) return
  throw fault(agentId, `the unknown stop reason ${JSON.stringify(result.stopReason)}`)
}

function settledResult(result: PromptResult): Settled {
  const status = statusByStopReason[result.stopReason]
  return { status: status === 'awaiting-tools' ? statusOfPending(result.pending ?? []) : status, result }
}

/** With a tool among them it is tools that are waited for. */
function statusOfPending(pending: readonly PendingInput[]): 'awaiting-tools' | 'awaiting-approval' {
  return pending.length > 0 && pending.every(({ kind }) => kind === 'approval') ? 'awaiting-approval' : 'awaiting-tools'
}

/** It has said so much, and asks this. */
export function waitingFor(pending: readonly PendingInput[], text: string): Settled {
  return { status: statusOfPending(pending), result: { text, stopReason: 'needs_input', pending } }
}

function resultBytes({ text, structured }: PromptResult, agentId: string): number {
  return Buffer.byteLength(text) + (structured === undefined ? 0 : Buffer.byteLength(textOf(structured, agentId)))
}

/** What can be written but is not JSON, like a date, is found when the result is stored. */
function textOf(structured: unknown, agentId: string): string {
  try {
    const text = JSON.stringify(structured) as string | undefined
    if (text !== undefined) return text
  } catch {
    // A bigint, or a value in itself.
  }
  throw fault(agentId, 'a result that is not JSON')
}

function badEvent(event: unknown, agentId: string): BridgeError {
  const type = JSON.stringify((event as { type?: unknown } | null)?.type)
  return new BridgeError('PROTOCOL', `Agent ${agentId} sent an event of the unknown type ${type}`, { details: { agentId, reason: 'bad-reply' } })
}
