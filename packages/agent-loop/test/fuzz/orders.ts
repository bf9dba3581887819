import type {
  AgentInput,
  AgentResult,
  ApprovalDecision,
  ApprovalRequest,
  JournalState,
  PendingToolCall,
  SubmittedResult,
} from '../../src/index.ts'
import type { RoundPlan } from './scenarios.ts'
import type { Store } from './tested-journal.ts'
import type { World } from './world.ts'

/** The input and options that a run begins with. */
export interface Order {
  readonly input: AgentInput | undefined
  /** The turn is open and must be ended. */
  readonly stops?: true
  readonly cancels?: true
  /** The input must be refused and change nothing. */
  readonly refused?: true
}

/** State that is kept beside the journal. */
export type Standing = Pick<Store, 'queue' | 'waiting' | 'answered' | 'host'>

/** Returns the next input, by the state of the journal and the pending parts of the latest result. */
export function nextOrder(world: World, store: Standing, plan: RoundPlan, state: JournalState, latest: AgentResult | undefined): Order {
  if (!state.open) return newTurn(world, store, plan)
  switch (plan.answer) {
    case 'close':
      return { input: world.name('user'), cancels: true }
    case 'message':
      return { input: world.name('user'), refused: true }
    case 'stop':
      return { input: undefined, stops: true }
    case 'wrong':
      return {
        input: { toolResults: [{ toolCallId: 'nobody', output: 'x' }], approvals: [{ approvalId: 'nothing', decision: 'deny' }] },
        refused: true,
      }
    case 'wait':
      return { input: undefined }
    case 'again':
      return { input: store.answered }
    case 'all':
    case 'first':
    case 'mixed': {
      const input = latest && answersTo(plan, store.host ? withoutHosted(latest) : latest)
      if (!input || input.toolResults.length + input.approvals.length === 0) return { input: undefined }
      store.answered = input
      return { input }
    }
  }
}

function newTurn(world: World, { queue, waiting, answered }: Standing, { answer }: RoundPlan): Order {
  if (answer === 'again' && answered !== undefined) return { input: answered }
  const queued = queue.shift()
  if (queued !== undefined) return { input: queued }
  if (answer === 'wait' || answer === 'stop')
    return waiting.some(({ source }) => source !== 'overlay') ? { input: undefined } : { input: undefined, refused: true }
  return { input: world.name('user') }
}

function answersTo(plan: RoundPlan, { pendingToolCalls, pendingApprovals }: AgentResult): Answers {
  const toolResults = pendingToolCalls.map((pending, place) => resultFor(pending, plan.answer === 'mixed' ? place : 0))
  const approvals = pendingApprovals.map((request) => decisionOn(request, plan))
  if (plan.answer !== 'first') return { toolResults, approvals }
  return toolResults.length > 0
    ? { toolResults: toolResults.slice(0, 1), approvals: [] }
    : { toolResults: [], approvals: approvals.slice(0, 1) }
}

/** Removes what a host's subagents wait for: it is answered through the host. */
function withoutHosted(latest: AgentResult): AgentResult {
  const isOwn = ({ path }: { readonly path: readonly string[] }): boolean => path.length === 0
  return { ...latest, pendingToolCalls: latest.pendingToolCalls.filter(isOwn), pendingApprovals: latest.pendingApprovals.filter(isOwn) }
}

interface Answers {
  readonly toolResults: readonly SubmittedResult[]
  readonly approvals: readonly ApprovalDecision[]
}

function resultFor({ toolCallId, path, unknown }: PendingToolCall, kind: number): SubmittedResult {
  if (kind === 1) return { toolCallId, path, error: 'it did not work' }
  if (kind === 2 && unknown) return { toolCallId, path, unknown: true }
  return { toolCallId, path, output: { answered: true }, details: [1] }
}

export function decisionOn(
  { approvalId, inputHash, about }: ApprovalRequest,
  { approve, edits }: Pick<RoundPlan, 'approve' | 'edits'>,
): ApprovalDecision {
  if (!approve) return { approvalId, inputHash, decision: 'deny', reason: 'rather not' }
  return {
    approvalId,
    inputHash,
    decision: 'approve',
    by: 'somebody',
    ...(edits && { input: about === 'budget' ? { tokens: 3_000 } : { act: 'return', ms: 0 } }),
  }
}
