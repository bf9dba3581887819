import type { AgentErrorData, AgentEvent, ApprovalRequest, PendingToolCall } from '@bowline/agent-loop/events'
import type { RunView } from '@bowline/agent-loop/events'
import type { ModelError, Usage } from '@bowline/llm'
import type { PendingInput, PromptResult, StopReason } from '../agent.ts'
import type { SettledStatus } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { modelFailure } from '../model-failure.ts'

/** Outcome of one prompt. */
export interface Settled {
  readonly status: SettledStatus
  readonly result: PromptResult
}

/** Returns whether the events show that the run has ended or waits. */
export function hasSettled(view: RunView): boolean {
  return view.phase === 'idle' && view.outcome !== undefined
}

/** Returns whether the run waits for a user or for subagents. */
export function isWaiting({ status }: Pick<RunView, 'status'>): boolean {
  return status === 'waiting-for-user' || status === 'waiting-for-subagent'
}

export type TurnEnd = Extract<AgentEvent, { readonly type: 'turn-end' }>

/** Returns the outcome of the folded events of a run. `end` is its last `turn-end`. Throws if the run failed. */
export function settledRun(view: RunView, agentId: string, end?: TurnEnd): Settled {
  const result = (stopReason: StopReason): PromptResult => ({
    text: lastText(view),
    stopReason,
    ...(hasNumbers(view.usage) && { usage: view.usage }),
    ...(view.cost && { cost: view.cost }),
    ...withPending(pendingInputs(view)),
  })
  switch (view.outcome) {
    case 'completed':
      return { status: 'completed', result: result(wasCutOff(view) ? 'max_tokens' : 'end_turn') }
    case 'limit':
      return { status: 'limit', result: result('max_turn_requests') }
    case 'aborted':
      return { status: 'aborted', result: result('cancelled') }
    case 'halted':
      return { status: 'halted', result: result('refusal') }
    case 'awaiting-approval':
    case 'awaiting-tools':
    case 'awaiting-subagent':
      return { status: view.outcome, result: result('needs_input') }
    case 'needs-recovery':
      if (end?.reason === 'definition-changed')
        throw heldFailure(agentId, [{ runId: end.runId, agent: [], message: 'The definition of the agent has changed.' }])
      throw new BridgeError('UPSTREAM', `Agent ${agentId} stopped: it is unknown whether a tool call took effect`, {
        details: { reason: 'needs-recovery', outcome: 'unknown', agentId },
      })
    case 'error':
      throw failedRun(view.error, agentId)
    case undefined:
      throw new BridgeError('UPSTREAM', `The events of agent ${agentId} ended before its run`, {
        details: { reason: 'no-outcome', outcome: 'unknown', agentId },
      })
    default: {
      const unknown: never = view.outcome
      return unknown
    }
  }
}

/** A run that waits because the definition of its agent has changed. */
interface HeldRun {
  readonly runId: string
  readonly agent: readonly string[]
  readonly message: string
}

/** Answers cannot continue such a run. Only `recover`, a call of its runtime, can. */
export function heldFailure(agentId: string, held: readonly HeldRun[]): BridgeError {
  const [first] = held
  const below = first && first.agent.length > 0 ? ` of ${first.agent.join('/')}` : ''
  return new BridgeError('UPSTREAM', `Agent ${agentId} waits until recover decides about run ${first?.runId}${below}: ${first?.message}`, {
    details: {
      agentId,
      reason: 'needs-recovery',
      outcome: 'unknown',
      issues: held.map(({ runId, agent, message }) => ({ id: runId, agent: [...agent], message })),
    },
  })
}

function failedRun(error: ModelError | AgentErrorData | undefined, agentId: string): BridgeError {
  if (error && 'kind' in error) return modelFailure(error, agentId)
  return new BridgeError('UPSTREAM', `Agent ${agentId} failed`, {
    // A failed run has ended properly in its journal, so the session stays valid.
    details: { agentId, sessionValid: true, ...(error && { upstreamCode: error.code }) },
  })
}

/** Returns the text of the answer: of the open message while streaming, else of the last message. */
export function lastText(view: RunView): string {
  if (view.open) return joinText(view.open.blocks)
  const message = view.messages.findLast((each) => each.role === 'assistant')
  return message?.role === 'assistant' ? joinText(message.content) : ''
}

function joinText(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function wasCutOff(view: RunView): boolean {
  const message = view.messages.findLast((each) => each.role === 'assistant')
  return message?.role === 'assistant' && message.stopReason === 'length'
}

function hasNumbers(usage: Usage): boolean {
  return Object.keys(usage).length > 0
}

function withPending(pending: readonly PendingInput[]): Pick<PromptResult, 'pending'> {
  return pending.length > 0 ? { pending } : {}
}

/** Returns the open questions of a run, tools first. */
export function pendingInputs({
  pendingToolCalls,
  pendingApprovals,
}: Pick<RunView, 'pendingToolCalls' | 'pendingApprovals'>): readonly PendingInput[] {
  return [...pendingToolCalls.map(pendingCall), ...pendingApprovals.map(pendingApproval)]
}

function pendingApproval({ approvalId, toolName, input, agent }: ApprovalRequest): PendingInput {
  return { id: approvalId, kind: 'approval', toolName, input, ...(agent.length > 0 && { agent }) }
}

function pendingCall({ toolCallId, toolName, input, path, agent }: PendingToolCall): PendingInput {
  return {
    id: [...path, toolCallId].join('/'),
    kind: 'tool',
    toolName,
    input,
    ...(agent.length > 0 && { agent }),
  }
}
