import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { BridgeEvent, PendingInput, PromptResult, StopReason } from '../agent.ts'
import type { SettledStatus } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { hasSettled, isWaiting, lastText, settledRun } from './run-result.ts'
import type { Settled, TurnEnd } from './run-result.ts'

/** Folds the events of a prompt into one result. A `result` event takes precedence over loop events, and those over text deltas. */
export interface ResultCollector {
  /** Whether the agent has sent its result; later events are ignored. */
  readonly complete: boolean
  /** Length of the text so far in UTF-16 units. */
  readonly chars: number
  /** Text so far. */
  readonly text: string
  /** Throws if the result is too large or the event is invalid. */
  add(event: BridgeEvent): void
  /** Throws if the agent failed. */
  finish(): Settled
  /** Returns the outcome of a cancelled prompt, with the text so far. */
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
      // If a run ended before the cancel reached it, its own end stays.
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
  return new BridgeError('PROTOCOL', `Agent ${agentId} returned ${what}`, { details: { agentId, reason: 'bad-reply' } })
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

/** If any tool result is pending, the status is `awaiting-tools`. */
function statusOfPending(pending: readonly PendingInput[]): 'awaiting-tools' | 'awaiting-approval' {
  return pending.length > 0 && pending.every(({ kind }) => kind === 'approval') ? 'awaiting-approval' : 'awaiting-tools'
}

/** Returns the state of an agent that waits for input, with its text so far. */
export function waitingFor(pending: readonly PendingInput[], text: string): Settled {
  return { status: statusOfPending(pending), result: { text, stopReason: 'needs_input', pending } }
}

function resultBytes({ text, structured }: PromptResult, agentId: string): number {
  return Buffer.byteLength(text) + (structured === undefined ? 0 : Buffer.byteLength(textOf(structured, agentId)))
}

/** Values that JSON.stringify accepts but that are not JSON, such as dates, are detected when the result is stored. */
function textOf(structured: unknown, agentId: string): string {
  try {
    const text = JSON.stringify(structured) as string | undefined
    if (text !== undefined) return text
  } catch {
    // A bigint or a circular value.
  }
  throw fault(agentId, 'a result that is not JSON')
}

function badEvent(event: unknown, agentId: string): BridgeError {
  const type = JSON.stringify((event as { type?: unknown } | null)?.type)
  return new BridgeError('PROTOCOL', `Agent ${agentId} sent an event of the unknown type ${type}`, {
    details: { agentId, reason: 'bad-reply' },
  })
}
