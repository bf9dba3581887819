import { z } from 'zod'
import { wordsOnly } from './advertised-schema.ts'
import { requestStatuses } from '../bridge-contract.ts'

/** Output fields of tools. Output schemas are loose, so that a new field does not break clients that validate. */

const ids = {
  sessionId: z.string().describe('The session.'),
  agentId: z.string().describe('The agent.'),
  requestId: z.string().describe('For tasks_status and sessions_cancel.'),
}

/** Advertises a field without its parts, which the description names. This keeps the list of tools short for models. */
function inWords<T extends z.ZodType>(schema: T, description: string): T {
  return schema.meta({ description, [wordsOnly]: true })
}

const timeSchema = z.int()

const errorBodySchema = z.looseObject({ code: z.string(), message: z.string(), retryable: z.boolean(), next: z.string() })

const errorWords = 'code, message, retryable, next, details.'

export const sessionSchema = z.looseObject({
  sessionId: z.string().describe('For all other calls about this session.'),
  agentId: ids.agentId,
  status: z
    .enum(['active', 'busy', 'idle', 'failed'])
    .describe('active: no prompt yet. busy: one runs or waits for answers. idle: takes a prompt. failed: takes none.'),
  createdAt: timeSchema.describe('Ms since 1970.'),
  lastActivityAt: timeSchema.describe('Ms since 1970.'),
  expiresAt: timeSchema.optional().describe('Ms since 1970; absent: never.'),
  currentRequestId: z.string().optional().describe('The request that makes it busy.'),
  lastError: inWords(errorBodySchema.optional(), `How the last prompt failed: ${errorWords}`),
  metadata: z.record(z.string(), z.json()).optional().describe('As it was given at creation.'),
})

const tokensSchema = z.int().min(0)

const usageSchema = z.looseObject({
  inputTokens: tokensSchema,
  outputTokens: tokensSchema,
  totalTokens: tokensSchema,
  cacheReadTokens: tokensSchema.optional(),
  reasoningTokens: tokensSchema.optional(),
  estimated: z.literal(true).optional(),
})

const costSchema = z.looseObject({ currency: z.string(), total: z.string() })

const pendingInputSchema = z.looseObject({
  id: z.string().describe('The id for the answer.'),
  kind: z.enum(['approval', 'tool']).describe('approval: answer a decision. tool: run it, answer output or error.'),
  toolName: z.string().describe('The tool to call.'),
  input: z.json().describe('Its input.'),
  agent: z.array(z.string()).optional().describe('Names down to the one that asks.'),
})

const progressSchema = z.looseObject({ message: z.string().optional(), chars: z.int(), at: timeSchema })

/** Fields of a settled request, and its progress while it runs. */
const resultShape = {
  text: z.string().optional().describe('The answer so far.'),
  stopReason: z
    .enum(['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled', 'needs_input', 'other'])
    .optional()
    .describe('Why the agent stopped; end_turn: it was done.'),
  structured: z.json().optional().describe('The answer as data.'),
  usage: inWords(
    usageSchema.optional(),
    'inputTokens, outputTokens, totalTokens; where reported cacheReadTokens (of the input), reasoningTokens (of the output); estimated if not all are reported.',
  ),
  cost: inWords(
    costSchema.optional(),
    'If prices are known: currency, total and its parts input, cacheRead, cacheWrite, output, as exact decimals.',
  ),
  pending: z.array(pendingInputSchema).optional().describe('What it waits for: send answers with sessions_prompt.'),
  progress: inWords(progressSchema.optional(), 'While it runs: message (its last), chars (of text so far), at (in ms since 1970).'),
}

const outcomeStatuses = requestStatuses.filter((status) => status !== 'error')

const statusText = 'queued, running, awaiting-subagent: goes on. awaiting-tools, awaiting-approval: wants answers. Others are final.'

export const outcomeSchema = z.looseObject({ status: z.enum(outcomeStatuses).describe(statusText), ...ids, ...resultShape })

/** The outcome of a single request, or a list for several. */
export const taskStatusSchema = z.looseObject({
  ...outcomeSchema.partial().shape,
  requests: z
    .array(
      z.looseObject({
        requestId: ids.requestId,
        status: z.enum(requestStatuses).describe('As for one request; error: it failed, or there is no such request.'),
        error: inWords(errorBodySchema.optional(), `Why it failed: ${errorWords}`),
      }),
    )
    .optional()
    .describe('With requestIds: one entry for each, in their order, with the same fields.'),
})

export const requestListSchema = z.looseObject({
  requests: z
    .array(
      z.looseObject({
        ...ids,
        status: z.enum(requestStatuses).describe(`${statusText} error: it failed, tasks_status says why.`),
        createdAt: timeSchema.describe('When it was accepted, in ms since 1970.'),
        prompt: z.string().describe('How the prompt begins.'),
      }),
    )
    .describe('Newest first.'),
  nextCursor: z.string().optional().describe('There are more: give it as cursor.'),
})

const count = (what: string): z.ZodInt => z.int().describe(what)

const loadSchema = z.looseObject({ active: z.int(), capacity: z.int() })

const requestLoadSchema = z.looseObject({ inFlight: z.int(), capacity: z.int(), queued: z.int() })

export const healthSchema = z.looseObject({
  healthy: z.boolean().describe('All that is configured can be used.'),
  version: z.string().describe('Of the bridge.'),
  uptimeMs: z.number().describe('Since its start.'),
  agents: z.looseObject({ total: count('All that are known.'), ready: count('Those that take work now.') }).describe('How many agents.'),
  sessions: inWords(loadSchema, 'Of all callers: active, and capacity, the most that there may be.'),
  requests: inWords(requestLoadSchema, 'Of all callers: inFlight (running), capacity, and queued (waiting for a place).'),
  owner: inWords(
    z.looseObject({ sessions: loadSchema, requests: requestLoadSchema.extend({ queueCapacity: z.int() }) }),
    'What you use and may use: sessions and requests as above, with the queueCapacity of requests.',
  ),
  executors: z
    .array(
      z.looseObject({
        kind: z.string().describe('Such as in-process, worker or remote.'),
        healthy: z.boolean().describe('All of its agents can be used.'),
        reason: z.string().optional().describe('Why it cannot be used.'),
        workers: inWords(
          z.array(z.looseObject({ id: z.string(), state: z.string(), restarts: z.int(), reason: z.string().optional() })).optional(),
          'Its processes: id, state (ready, starting, waiting, unavailable or stopped), restarts, and the reason if it is not ready.',
        ),
        leftOut: inWords(
          z.array(z.looseObject({ id: z.string(), reason: z.string() })).optional(),
          'Agents that are not listed: id, and the reason.',
        ),
      }),
    )
    .describe('What reaches the agents.'),
})

const providerSchema = z.looseObject({
  id: z.string().describe('For metadata.provider of sessions_create or tasks_delegate.'),
  models: z.array(z.string()).describe('Names for runtimeParams.model; the first is the default.'),
  kind: z.string().optional().describe('The kind of provider.'),
  displayName: z.string().optional().describe('For people.'),
  description: z.string().optional().describe('What it is good for.'),
  capabilities: z.array(z.string()).optional().describe('What it can do.'),
})

export const agentListSchema = z.looseObject({
  agents: z
    .array(
      z.looseObject({
        id: z.string().describe('For agentId of sessions_create or tasks_delegate.'),
        name: z.string().optional().describe('For people.'),
        description: z.string().optional().describe('What it is for.'),
        version: z.string().optional().describe('Of the agent.'),
        capabilities: z.array(z.string()).describe('What it can do, as words to filter by.'),
        status: z
          .enum(['ready', 'busy', 'starting', 'unavailable'])
          .describe('busy: no place now. starting: prompts wait for it. unavailable: prompts fail.'),
        reason: z.string().optional().describe('Why it is not ready.'),
        executor: z.string().describe('How it is reached.'),
        durable: z.boolean().describe('Its work goes on after a crash, and its sessions can be resumed.'),
        default: z.boolean().describe('Used when no agentId is given.'),
        providers: z.array(providerSchema).optional().describe('Model providers to choose from; absent: there is no choice.'),
      }),
    )
    .describe('In order of precedence.'),
})
