import type { AgentInput, AgentResult, ApprovalDecision, ApprovalRequest, StoredMessage } from '../../src/index.ts'
import { fakeIds } from '@bowline/testing'
import { checkRun } from './checks.ts'
import { crashAgent, nextInput } from './crash-agent.ts'
import type { Executions } from './crash-agent.ts'
import type { CrashPlan } from './crash-plan.ts'
import { play } from './process.ts'
import { calmRound } from './scenarios.ts'
import type { RoundPlan } from './scenarios.ts'
import { Store } from './tested-journal.ts'
import { World } from './world.ts'

export interface Life {
  readonly messages: readonly StoredMessage[]
  readonly executions: Executions
  readonly commits: number
  readonly faults: readonly string[]
}

/** Plays the conversation of a plan to its end, through processes that die as planned, one after the other. */
export async function live(plan: CrashPlan, deaths: readonly RoundPlan['death'][]): Promise<Life> {
  const world = new World()
  const store = new Store(world, { latencyMs: plan.latencyMs, inputs: [], enqueues: false, schedulesCompaction: false, host: undefined })
  giveInputs(store, plan)
  const executions: Executions = new Map()
  const agent = crashAgent(world, store, plan, executions)
  const options = {
    ids: fakeIds(),
    ...(plan.inPlace && { onApproval: (request: ApprovalRequest) => Promise.resolve(decisionOn(request)) }),
  }
  const left = [...deaths]
  let commits = 0
  let latest: AgentResult | undefined
  for (let runs = 0; runs < 40 && world.faults.length === 0; runs++) {
    const before = await store.root.load()
    const input = before.open ? answersTo(plan, latest) : nextInput(store, plan.turns.length)
    // Overlays alone do not begin a turn.
    const waits = store.waiting.some(({ source }) => source !== 'overlay')
    if (!before.open && input === undefined && !waits) return { messages: before.messages, executions, commits, faults: world.faults }
    const round = { ...calmRound, death: left[0] }
    const played = await play({ world, store, agent, agentPlan: { abortGraceMs: 2_000 }, plan: round, options }, { input })
    if (played.writer.died) left.shift()
    latest = played.result.reason === 'pending' || played.result.reason === 'unknown-outcome' ? played.result : undefined
    commits += played.writer.commits
    world.claim(!played.stoodStill, 'the run stood still')
    await checkRun({ world, store, agent, agentPlan: { abortGraceMs: 2_000 }, plan: round, options }, { input }, before, played)
  }
  return { messages: [], executions, commits, faults: [...world.faults, 'the conversation never ends'] }
}

/** Gives an input when the answer before it is stored, so that its place stays the same whichever process dies meanwhile. */
function giveInputs(store: Store, plan: CrashPlan): void {
  const steps = plan.turns.flat()
  let given = 0
  store.onStored = () => {
    const answers = store.view().messages.filter(({ role }) => role === 'assistant').length
    for (; given < answers; given++) {
      const source = steps[given]?.input
      if (source) store.waiting.push({ inputId: `input ${given}`, source, input: `${source} ${given}` })
    }
  }
}

/** Returns a few answers at a time, and the same ones if they are asked for again. */
function answersTo({ answers }: CrashPlan, latest: AgentResult | undefined): AgentInput | undefined {
  if (!latest) return undefined
  const toolResults = latest.pendingToolCalls
    .slice(0, answers)
    .map(({ toolCallId, path }) => ({ toolCallId, path, output: `${toolCallId} answered` }))
  return { toolResults, approvals: latest.pendingApprovals.slice(0, answers - toolResults.length).map(decisionOn) }
}

function decisionOn({ approvalId, toolCallId, about }: ApprovalRequest): ApprovalDecision {
  if (about === 'budget') return { approvalId, decision: 'approve', input: { tokens: 3_000 } }
  return { approvalId, decision: toolCallId.endsWith('1') ? 'deny' : 'approve' }
}

/**
 * Returns the parts of a conversation that a crash must not change. Leaves out whether a `once` call is known to have taken effect,
 * and warnings of a guardrail that counts failures.
 */
export function shapeOf(messages: readonly StoredMessage[]): readonly string[] {
  return messages.map((message) => {
    if (message.role === 'user') return `user ${JSON.stringify(message.content)}`
    if (message.role === 'assistant') return `assistant ${message.stopReason} ${JSON.stringify(message.content)}`
    const { toolCallId, toolName, status, output } = message
    if (toolName === 'once') return toolCallId
    return `${toolCallId} ${status} ${status === 'error' ? '' : JSON.stringify(output)}`
  })
}
