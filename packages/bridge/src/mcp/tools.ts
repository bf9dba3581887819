import type { ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Bridge, BridgeOutcome, DelegateInput } from '../bridge-contract.ts'
import { delegateInputSchema, idSchema } from '../input/schemas.ts'

/** One tool: what it is called, what it takes and gives, and what it does. */
export interface BridgeTool<Input extends z.ZodType = z.ZodType> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  /** Loose objects, so that fields can be added. */
  readonly output: z.ZodType
  readonly annotations: ToolAnnotations
  /** Throws a `BridgeError` for a failure. */
  run(bridge: Pick<Bridge, 'discover' | 'delegate'>, input: z.infer<Input>, abortSignal: AbortSignal): Promise<object>
}

const agentsDiscover = tool({
  name: 'agents_discover',
  title: 'Discover agents',
  description: 'Lists the agents that work can be delegated to, in order of precedence.',
  input: z.strictObject({
    capability: z.string().optional().describe('Only agents that list exactly this capability.'),
  }),
  output: z.looseObject({
    agents: z.array(
      z.looseObject({
        id: idSchema,
        name: z.string().optional(),
        description: z.string().optional(),
        version: z.string().optional(),
        capabilities: z.array(z.string()),
        status: z.enum(['ready', 'busy', 'unavailable']),
        executor: z.string(),
        durable: z.boolean(),
        default: z.boolean(),
        providers: z.array(z.looseObject({ id: z.string(), models: z.array(z.string()) })).optional(),
      }),
    ),
  }),
  annotations: { readOnlyHint: true },
  run: async (bridge, { capability }) => ({ agents: bridge.discover(capability === undefined ? {} : { capability }) }),
})

const usageSchema = z.looseObject({
  inputTokens: z.int().min(0),
  outputTokens: z.int().min(0),
  cacheReadTokens: z.int().min(0).optional(),
  reasoningTokens: z.int().min(0).optional(),
  estimated: z.literal(true).optional(),
})

const pendingSchema = z.looseObject({
  id: z.string(),
  kind: z.enum(['approval', 'tool']),
  toolName: z.string(),
  input: z.json(),
  agent: z.array(z.string()).optional(),
})

const tasksDelegate = tool({
  name: 'tasks_delegate',
  title: 'Delegate a task',
  description: 'Hands a prompt to an agent and gives its answer. The call stays open until the agent ends or its time is over.',
  input: delegateInputSchema,
  output: z.looseObject({
    status: z.enum(['awaiting-tools', 'awaiting-approval', 'completed', 'aborted', 'halted', 'limit']),
    sessionId: idSchema,
    agentId: idSchema,
    requestId: idSchema,
    text: z.string().optional(),
    stopReason: z
      .enum(['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled', 'needs_input', 'other'])
      .optional(),
    structured: z.json().optional(),
    usage: usageSchema.optional(),
    pending: z.array(pendingSchema).optional(),
  }),
  annotations: { openWorldHint: true },
  run: async (bridge, input, abortSignal) => {
    const result = await bridge.delegate({ ...(input as DelegateInput), abortSignal }).result()
    if (!result.ok) throw result.error
    const { ok: _ok, ...outcome } = result
    return onTheWire(outcome)
  },
})

export const bridgeTools: readonly BridgeTool[] = [agentsDiscover, tasksDelegate]

function tool<Input extends z.ZodType>(definition: BridgeTool<Input>): BridgeTool {
  return definition
}

/** Tool clients expect both counts where there are any: one that nobody reported is 0 here, and only here. */
function onTheWire({ usage, ...outcome }: BridgeOutcome): object {
  if (!usage) return outcome
  return { ...outcome, usage: { ...usage, inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 } }
}
