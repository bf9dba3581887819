import { mergeRuntimeParams } from '@bowline/llm'
import type { FunctionTool, LanguageModelV4ProviderTool, Message, RuntimeParams, ToolChoice } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import type { RequestPatch } from '../extensions/extension.ts'
import { settleWithin } from '../time-limit.ts'
import { wrongShape } from '../transcript/message-shape.ts'
import type { ModelTarget } from './model-target.ts'
import type { StepPlan } from './step-plan.ts'
import { stepContext } from './step-context.ts'
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
export async function buildRequest(turn: Turn, { patch }: StepPlan): Promise<CallRequest> {
  const { agent, hooks, run } = turn
  const params = mergeRuntimeParams(agent.runtimeParams, run.runtimeParams, patch.runtimeParams)
  const instructions = patch.instructions ?? params.systemPrompt ?? turn.instructions
  const shown = patch.messages ?? turn.overlays.into(turn.transcript.view, turn.transcript.shown.compaction?.compactionId)
  const messages = hooks.has('transformContext') ? await hooks.transformContext(shown) : shown
  const whole = agent.ephemeral ? [...messages, ...(await weighedEphemeral(turn))] : messages
  const asked = hooks.has('beforeModelCall') ? await askRequestHooks(turn, { instructions, messages: whole, params }) : {}
  if (asked.activeTools) turn.activeTools = new Set(asked.activeTools)
  const { model: _chosen, systemPrompt: _prompt, ...runtimeParams } = mergeRuntimeParams(params, asked.runtimeParams)
  return {
    target: turn.model,
    instructions: asked.runtimeParams?.systemPrompt ?? instructions,
    messages: whole,
    tools: activeDeclarations(turn),
    runtimeParams,
    toolChoice: asked.toolChoice ?? patch.toolChoice ?? agent.toolChoice,
  }
}

function askRequestHooks(
  turn: Turn,
  { instructions, messages, params }: { instructions: string; messages: readonly Message[]; params: RuntimeParams },
): Promise<RequestPatch> {
  const tools = activeDeclarations(turn).map(({ name }) => name)
  return turn.hooks.beforeModelCall({ instructions, messages, tools, runtimeParams: params, attempt: turn.attempt })
}

/** The agent's own array as long as all tools are active: what is the same is converted once. */
function activeDeclarations({ agent, activeTools }: Turn): CallRequest['tools'] {
  return activeTools ? agent.declarations.filter(({ name }) => activeTools.has(name)) : agent.declarations
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
  turn.record({ type: 'error', source: 'ephemeral', message: objection(settled), fatal: false })
  return []
}

function areMessages(value: unknown): value is readonly Message[] {
  return Array.isArray(value) && value.every((item: unknown) => wrongShape(item) === undefined)
}

function objection(settled: { readonly kind: string; readonly error?: unknown }): string {
  if (settled.kind === 'failed') return messageOf(settled.error)
  return settled.kind === 'value' ? 'ephemeral must return messages' : `no answer within ${ephemeralTimeoutMs} ms`
}
