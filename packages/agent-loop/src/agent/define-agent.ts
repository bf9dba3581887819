import type { FunctionTool } from '@bowline/llm'
import { startRun } from '../run/agent-run.ts'
import { fromAiSdk } from '../tools/from-ai-sdk.ts'
import { isTool } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'
import { checkKeys, checkOneOf, checkWhole, refuseConfig } from './check-options.ts'
import type { AgentDefinition } from './definition.ts'
import type { Agent, AgentOptions, Limits } from './options.ts'

const optionKeys = [
  'name',
  'description',
  'model',
  'instructions',
  'tools',
  'toolConcurrency',
  'limits',
  'abortGraceMs',
  'onUnknownOutcome',
]

/** Throws `invalid-config` that names the option at fault. */
export function defineAgent(options: AgentOptions): Agent {
  checkKeys('an agent', options, optionKeys)
  checkModel(options.model)
  const { name, description, instructions = '' } = options
  for (const [key, text] of Object.entries({ name, description, instructions })) {
    if (text !== undefined && typeof text !== 'string') refuseConfig(`${key} must be a text`)
  }
  checkWhole('toolConcurrency', options.toolConcurrency, 1)
  checkWhole('abortGraceMs', options.abortGraceMs, 0)
  checkOneOf('onUnknownOutcome', options.onUnknownOutcome, ['stop', 'tell-model'])
  const tools = toolsOf(options.tools ?? [])
  const definition: AgentDefinition = {
    model: options.model,
    instructions,
    tools,
    declarations: [...tools.values()].map(declarationOf),
    toolConcurrency: options.toolConcurrency ?? 8,
    limits: limitsOf(options.limits ?? {}),
    abortGraceMs: options.abortGraceMs ?? 2_000,
    onUnknownOutcome: options.onUnknownOutcome ?? 'stop',
  }
  return Object.freeze({
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    tools: Object.freeze([...tools.values()]),
    run: (input, runOptions = {}) => startRun(definition, input, runOptions),
  } satisfies Agent)
}

function checkModel(model: unknown): void {
  const { specificationVersion, provider, modelId, doStream } = (model ?? {}) as Record<string, unknown>
  const named = typeof provider === 'string' && typeof modelId === 'string'
  if (specificationVersion === 'v4' && named && typeof doStream === 'function') return
  refuseConfig('model must be a language model object of the AI SDK (specification v4)')
}

function limitsOf(limits: Partial<Limits>): Limits {
  checkKeys('limits', limits, ['maxSteps', 'maxToolCalls'])
  checkWhole('limits.maxSteps', limits.maxSteps, 1)
  checkWhole('limits.maxToolCalls', limits.maxToolCalls, 0)
  return { maxSteps: limits.maxSteps ?? 32, maxToolCalls: limits.maxToolCalls ?? 256 }
}

function toolsOf(given: NonNullable<AgentOptions['tools']>): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>()
  for (const tool of Array.isArray(given) ? arrayTools(given) : recordTools(given as Exclude<typeof given, readonly Tool[]>)) {
    if (tools.has(tool.name)) refuseConfig(`tools has two tools named "${tool.name}"`)
    tools.set(tool.name, tool)
  }
  return tools
}

function arrayTools(given: readonly unknown[]): readonly Tool[] {
  return given.map((tool, index) => {
    if (isTool(tool)) return tool
    return refuseConfig(`tools[${index}] is not made by defineTool; give tools of the AI SDK as a record, by name`)
  })
}

function recordTools(given: Exclude<NonNullable<AgentOptions['tools']>, readonly Tool[]>): readonly Tool[] {
  return Object.entries(given).map(([name, tool]) => {
    if (typeof tool !== 'object' || tool === null) return refuseConfig(`tools.${name} is no tool`)
    if (!isTool(tool)) return fromAiSdk(name, tool)
    return tool.name === name ? tool : refuseConfig(`tools.${name} is named "${tool.name}"`)
  })
}

function declarationOf({ name, description, inputSchema }: Tool): FunctionTool {
  return { name, description, inputSchema }
}
