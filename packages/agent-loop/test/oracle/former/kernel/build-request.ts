import { mergeRuntimeParams } from '@bowline/llm'
import type { FunctionTool, LanguageModelV4ProviderTool, Message, RuntimeParams, ToolChoice } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { settleWithin } from '../base/time-limit.ts'
import type { RequestPatch } from '../contract/extension.ts'
import { isPaused } from '../plugins/steering/windows.ts'
import { wrongShape } from '../transcript/message-shape.ts'
import type { ModelTarget } from './model-target.ts'
import { stepContext } from './step-context.ts'
import type { StepPlan } from './step-plan.ts'
import type { Turn } from './turn.ts'

/** All that one model call is given. */
export interface CallRequest {
  readonly target: ModelTarget
  readonly instructions: string
  readonly messages: readonly Message[]
  readonly tools: readonly (FunctionTool | LanguageModelV4ProviderTool)[]
  readonly runtimeParams: RuntimeParams
  readonly toolChoice: ToolChoice | undefined
}

const ephemeralTimeoutMs = 5_000

/** Prompt, view, overlays and ephemeral messages, as the step and the hooks want them for this call. */
export function buildRequest(turn: Turn, plan: StepPlan): CallRequest | Promise<CallRequest> {
  const { hooks } = turn
  const draft = draftRequest(turn, plan)
  const isComplete = !asksEphemeral(turn) && !hooks.has('transformContext') && !hooks.has('beforeModelCall')
  return isComplete ? finished(turn, plan, draft, {}) : completed(turn, plan, draft)
}

/** A request without what others have to say about it. */
interface RequestDraft {
  readonly instructions: string
  readonly messages: readonly Message[]
  readonly params: RuntimeParams
}

function draftRequest(turn: Turn, { patch, params }: StepPlan): RequestDraft {
  const shown = patch.messages ?? turn.overlays.into(turn.transcript.view, turn.transcript.shown.compaction?.compactionId)
  return { instructions: patch.instructions ?? params.systemPrompt ?? turn.instructions, messages: shown, params }
}

async function completed(turn: Turn, plan: StepPlan, { messages: shown, ...draft }: RequestDraft): Promise<CallRequest> {
  const { hooks } = turn
  const messages = hooks.has('transformContext') ? await hooks.transformContext(shown) : shown
  const whole = asksEphemeral(turn) ? [...messages, ...(await weighedEphemeral(turn))] : messages
  const asked = hooks.has('beforeModelCall') ? await askRequestHooks(turn, { ...draft, messages: whole }) : {}
  if (asked.activeTools) turn.activeTools = new Set(asked.activeTools)
  return finished(turn, plan, { ...draft, messages: whole }, asked)
}

function finished(turn: Turn, { patch }: StepPlan, { instructions, messages, params }: RequestDraft, asked: RequestPatch): CallRequest {
  const merged = asked.runtimeParams ? mergeRuntimeParams(params, asked.runtimeParams) : params
  const { model: _chosen, systemPrompt: _prompt, ...runtimeParams } = merged
  return {
    target: turn.model,
    instructions: asked.runtimeParams?.systemPrompt ?? instructions,
    messages,
    tools: shownDeclarations(turn, asked.shownTools),
    runtimeParams,
    toolChoice: asked.toolChoice ?? patch.toolChoice ?? turn.agent.toolChoice,
  }
}

function askRequestHooks(turn: Turn, { instructions, messages, params }: RequestDraft): Promise<RequestPatch> {
  const tools = activeDeclarations(turn).map(({ name }) => name)
  return turn.hooks.beforeModelCall({ instructions, messages, tools, runtimeParams: params, attempt: turn.attempt })
}

/** The agent's own array as long as all tools are active: what is the same is converted once. */
function activeDeclarations({ agent, activeTools }: Turn): CallRequest['tools'] {
  return activeTools ? agent.declarations.filter(({ name }) => activeTools.has(name)) : agent.declarations
}

function shownDeclarations(turn: Turn, shown: RequestPatch['shownTools']): CallRequest['tools'] {
  const active = activeDeclarations(turn)
  return shown ? active.filter(({ name }) => shown.includes(name)) : active
}

/** Nothing may stand behind an answer that the model goes on with. */
function asksEphemeral(turn: Turn): boolean {
  return turn.agent.ephemeral !== undefined && !isPaused(turn)
}

async function weighedEphemeral(turn: Turn): Promise<readonly Message[]> {
  const messages = await askEphemeral(turn)
  turn.transcript.estimate.useExtra([...turn.overlays.messages, ...messages])
  return messages
}

/** Asked again at each call. A source that fails is left out and said. */
async function askEphemeral(turn: Turn): Promise<readonly Message[]> {
  if (turn.stop.requested) return []
  const limit = { clock: turn.clock, abortSignal: turn.stop.signal, timeoutMs: ephemeralTimeoutMs }
  const settled = await settleWithin(limit, () => turn.agent.ephemeral?.(stepContext(turn)))
  if (settled.kind === 'stopped') return []
  if (settled.kind === 'value' && areMessages(settled.value)) return settled.value
  turn.log.record({ type: 'error', source: 'ephemeral', message: objection(settled), fatal: false })
  return []
}

function areMessages(value: unknown): value is readonly Message[] {
  return Array.isArray(value) && value.every((item: unknown) => wrongShape(item) === undefined)
}

function objection(settled: { readonly kind: string; readonly error?: unknown }): string {
  if (settled.kind === 'failed') return messageOf(settled.error)
  return settled.kind === 'value' ? 'ephemeral must return messages' : `no answer within ${ephemeralTimeoutMs} ms`
}
