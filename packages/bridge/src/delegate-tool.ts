import { createHash } from 'node:crypto'
import { defineTool } from '@bowline/agent-loop'
import type { ChildReport, Tool, ToolContext, ToolReturnValue } from '@bowline/agent-loop'
import type { FieldChecks } from '@bowline/llm/arguments'
import { z } from 'zod'
import { checkBridgeVersion, configChecks as check } from './arguments.ts'
import { contextOfRun } from './agents/run-contexts.ts'
import type { BridgeEvent } from './agent.ts'
import type { Bridge, BridgeOutcome, BridgeResult, DepthOption, OwnerOption } from './bridge-contract.ts'
import { workContext } from './context.ts'
import { errorBody } from './error-body.ts'
import { namesOf } from './missing-agent.ts'
import { redactionOf } from './redact.ts'
import type { BridgeRedaction } from './redact.ts'
import { withCounts } from './requests/outcome.ts'

/** Name, description and agents of a `delegateTool`. */
export interface DelegateToolOptions {
  /** Ids of the agents that the model may choose. The first is the default. Default: all agents. */
  readonly agents?: readonly string[]
  /** Default `delegate`. */
  readonly name?: string
  /**
   * Description for the model. Default: the purpose of the tool, and each agent with its description as listed when the tool is
   * created. If descriptions are known only after `bridge.start()`, create the tool after that.
   */
  readonly description?: string
}

const optionChecks: FieldChecks<DelegateToolOptions> = {
  agents: (path, agents) => {
    check.listOf(check.checkName)(path, agents)
    check.checkRequired(path, agents, 'a list of at least one agent id', (given) => (given as readonly unknown[] | undefined)?.length !== 0)
  },
  name: check.optionalName,
  description: check.checkText,
}

/**
 * Creates a tool that delegates a task to an agent of the bridge and returns its answer. A call repeated after a crash joins
 * the same request. Stopping the run cancels the request. Its cost is added to the run.
 */
export function delegateTool(bridge: Bridge, options: DelegateToolOptions = {}): Tool {
  checkBridgeVersion('delegateTool.bridge', bridge)
  check.requiredMethods('delegate', 'cancel', 'discover')('delegateTool.bridge', bridge)
  check.record(optionChecks)('delegateTool.options', options)
  const { agents, name = 'delegate', description = describe(bridge, agents) } = options
  const agentId = agents ? z.enum(agents) : z.string()
  const redaction = redactionOf(bridge)
  return defineTool({
    name,
    description,
    inputSchema: z.strictObject({
      prompt: z.string().min(1).describe('All that the agent needs to know: it sees nothing else.'),
      agentId: agentId.optional().describe(`Which agent: ${choiceOf(bridge, agents)}`),
    }),
    effect: 'idempotent',
    // The bridge enforces its own deadlines.
    timeoutMs: null,
    execute: async (input, context) => {
      const wanted = input.agentId ?? agents?.[0]
      const { owner = 'local', ...lineage } = placeOf(context)
      const run = bridge.delegate({
        prompt: input.prompt,
        requestId: requestIdOf(context),
        abortSignal: context.abortSignal,
        ...(wanted !== undefined && { agentId: wanted }),
        owner,
        ...lineage,
      })
      const events = run[Symbol.asyncIterator]()
      const child = new Child(run.requestId, wanted ?? defaultAgentOf(bridge), context)
      await child.follow(events)
      const result = await run.result()
      child.end(result, redaction)
      if (result.ok && result.status.startsWith('awaiting')) await bridge.cancel({ requestId: result.requestId, owner })
      return returned(result, redaction)
    },
  })
}

function describe(bridge: Bridge, agents: readonly string[] | undefined): string {
  const known = new Map(bridge.discover().map((agent) => [agent.id, agent]))
  const ids = agents ?? [...known.keys()]
  const lines = ids.slice(0, maxDescribed).map((id) => `\n- ${id}${oneLine(known.get(id)?.description)}`)
  const more = ids.length > maxDescribed ? `\n- and ${ids.length - maxDescribed} more` : ''
  return `Hands a task to another agent and gives its answer.${lines.length > 0 ? ` The agents:${lines.join('')}${more}` : ''}`
}

const maxDescribed = 20
const maxDescription = 200

function oneLine(description = ''): string {
  const text = description.replaceAll(/\s+/g, ' ').trim()
  if (text === '') return ''
  return `: ${text.length <= maxDescription ? text : `${text.slice(0, maxDescription).toWellFormed()}…`}`
}

function choiceOf(bridge: Bridge, agents: readonly string[] | undefined): string {
  const ids = agents ?? bridge.discover().map(({ id }) => id)
  const standard = agents?.[0] ?? defaultAgentOf(bridge)
  return ids.length === 0 ? 'an id. Default: the default agent.' : `${namesOf(ids)}. Default: ${standard}.`
}

/** Reports a request to the loop as a child run. The run id is the request id; the subagent is the agent of the bridge. */
class Child {
  readonly #id: string
  readonly #context: ToolContext
  #updates = 0

  constructor(id: string, subagent: string, context: ToolContext) {
    this.#id = id
    this.#context = context
    context.reportChild({ kind: 'start', childRunId: id, subagent })
  }

  async follow(events: AsyncIterator<BridgeEvent>): Promise<void> {
    for (let step = await events.next(); !step.done; step = await events.next()) {
      if (step.value.type !== 'agent-event' || step.value.event.type !== 'message-end') continue
      const { message, step: number } = step.value.event
      const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolName] : []))
      const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
      this.#update({ step: number, text, toolNames: calls })
    }
  }

  end(result: BridgeResult, redaction: BridgeRedaction): void {
    const childRunId = this.#id
    if (!result.ok) {
      const { code, message, retryable } = errorBody(result.error, redaction)
      const error = { kind: 'unknown', code, message, retryable, phase: 'before-output' } as const
      return this.#context.reportChild({ kind: 'end', childRunId, status: 'error', error })
    }
    const { usage, cost, text } = result
    // The agent reported no steps.
    if (this.#updates === 0) this.#update({ step: 1, text: text ?? '', toolNames: [] })
    this.#context.reportChild({ kind: 'end', childRunId, status: endedAs(result), ...withCounts(usage), ...(cost && { cost }) })
  }

  #update(update: Omit<Extract<ChildReport, { kind: 'update' }>, 'kind' | 'childRunId'>): void {
    this.#updates += 1
    this.#context.reportChild({ kind: 'update', childRunId: this.#id, ...update })
  }
}

/** A tool call cannot answer questions of the agent, so a waiting request counts as aborted. */
function endedAs({ status }: BridgeOutcome): 'completed' | 'aborted' | 'halted' | 'limit' {
  return status === 'completed' || status === 'halted' || status === 'limit' ? status : 'aborted'
}

/** The model has only this tool. The default texts name tools that only MCP clients have. */
const nextTimes = {
  later: 'Hand the task over again later, or to another agent.',
  never: 'Change the task or choose another agent; the same call fails again.',
}

function returned(result: BridgeResult, redaction: BridgeRedaction): ToolReturnValue {
  if (!result.ok) {
    const { code, message, retryable } = errorBody(result.error, redaction)
    return {
      output: { result: 'error', error: message, code, retryable, next: retryable ? nextTimes.later : nextTimes.never },
      isError: true,
    }
  }
  const { status, text = '', structured, agentId, requestId, sessionId, pending } = result
  return {
    output: {
      result: status,
      text,
      ...(structured !== undefined && { structured }),
      ...(pending && { error: `The agent needs answers that cannot be given here: ${pending.map(({ toolName }) => toolName).join(', ')}` }),
    },
    details: { agentId, requestId, sessionId },
    ...(status !== 'completed' && status !== 'limit' && { isError: true }),
  }
}

/** Returns the same id for each attempt of one call. */
function requestIdOf({ idempotencyKey }: ToolContext): string {
  return `d_${createHash('sha256').update(idempotencyKey).digest('base64url')}`
}

/**
 * Returns the position below the calling agent. A run of a runtime is found by its session key, because the async context may
 * belong to a different caller.
 */
function placeOf({ sessionKey, context }: ToolContext): OwnerOption & DepthOption {
  const above = sessionKey === undefined ? workContext() : contextOfRun(sessionKey)
  if (!above) return { depth: depthIn(context) + 1, path: [] }
  return { owner: above.owner, depth: above.depth + 1, path: [...above.path, above.agentId] }
}

/** Reads the depth that a remote bridge sent with the work; the server stores it with the session. */
function depthIn(context: ToolContext['context']): number {
  const depth = typeof context === 'object' && context !== null && 'bowline.depth' in context ? context['bowline.depth'] : 0
  return typeof depth === 'number' && Number.isSafeInteger(depth) && depth > 0 ? depth : 0
}

function defaultAgentOf(bridge: Bridge): string {
  return bridge.discover().find((agent) => agent.default)?.id ?? 'none'
}
