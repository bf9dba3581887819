import type { FlexibleSchema, JSONValue } from '@bowline/llm'
import { definedFields, describeValue, isFields } from '@bowline/llm/arguments'
import { checkKeys, checkRequired, refuseConfig } from '../base/checks.ts'
import { isRecord } from '../base/json.ts'
import type { Tool, ToolContext, ToolFields, ToolOptions } from '../contract/agent.ts'
import type { AiSdkTool, InputSchema, ReconcileContext, Reconciled, ToolFacts } from '../contract/tool.ts'
import { fromAiSdk } from './ai-sdk.ts'
import { buildTool, checkToolName, isTool } from './tool.ts'
import type { ProviderTool } from './tool.ts'

const factKeys = [
  'name',
  'label',
  'description',
  'effect',
  'reconcile',
  'onUnknownOutcome',
  'timeoutMs',
  'sequential',
  'concurrency',
  'needsApproval',
  'approvalTimeoutMs',
  'maxOutputCharacters',
  'strict',
  'inputExamples',
  'providerOptions',
]
const toolKeys = [...factKeys, 'inputSchema', 'execute', 'toModelOutput']

/** What a tool of the AI SDK lets through its schema. */
type SdkInput<From extends AiSdkTool> = From['inputSchema'] extends FlexibleSchema<infer Input> ? Input : JSONValue

/** A tool of the AI SDK with a name and with what the AI SDK does not know; what is given here wins. */
export interface AdoptedToolOptions<From extends AiSdkTool, Details extends JSONValue = JSONValue>
  extends Partial<Omit<ToolFacts, 'name'>> {
  readonly from: From
  readonly name: string
  readonly needsApproval?: boolean | ((input: SdkInput<From>, context: ToolContext) => boolean | Promise<boolean>)
  readonly reconcile?: (input: SdkInput<From>, context: ReconcileContext) => Promise<Reconciled<Details>>
}

/** Makes a tool. Throws `invalid-config` for options that are unknown or make no sense. */
export function defineTool<Schema extends InputSchema, Details extends JSONValue = JSONValue, Output = never>(
  options: ToolOptions<Schema, Details, Output>,
): Tool {
  checkKeys('defineTool.options', options, toolKeys)
  return buildTool(options as unknown as Partial<ToolFields>)
}

/**
 * Takes a tool of the AI SDK over under a name, with its effect and whatever else the AI SDK does not know. A function of
 * its own: beside an overload, compilers report a mistake in `defineTool` as one in this. Throws `invalid-config`.
 */
export function adoptTool<From extends AiSdkTool, Details extends JSONValue = JSONValue>(options: AdoptedToolOptions<From, Details>): Tool {
  checkKeys('adoptTool.options', options, [...factKeys, 'from'])
  const { from, ...given } = options as unknown as AdoptedToolOptions<AiSdkTool>
  checkRequired('from', from, 'a tool of the AI SDK', (given) => isRecord(given) && 'inputSchema' in given && !isTool(given))
  const tool = fromAiSdk(checkToolName('name', given.name), from, definedFields(given))
  return isTool(tool) ? tool : refuseConfig(`the tool ${tool.name} runs at its provider: give it by name, as it is`)
}

/** Tools as an agent is given them: of an array each has its own name, in a record the key is the name. */
export type GivenTools = readonly Tool[] | Readonly<Record<string, Tool | AiSdkTool>>

/** The tools of an agent, in the order in which they were given. No name stands twice. */
export interface ToolSet {
  /** Those whose calls this package settles. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Tools that their provider runs. */
  readonly providerTools: ReadonlyMap<string, ProviderTool>
}

/** Throws `invalid-config`. */
export function toolSetOf(given: GivenTools): ToolSet {
  const tools = new Map<string, Tool>()
  const providerTools = new Map<string, ProviderTool>()
  for (const tool of listOf(given)) {
    if (tools.has(tool.name) || providerTools.has(tool.name)) refuseConfig(`tools has two tools named "${tool.name}"`)
    if (isTool(tool)) tools.set(tool.name, tool)
    else providerTools.set(tool.name, tool)
  }
  return { tools, providerTools }
}

function listOf(given: GivenTools): readonly (Tool | ProviderTool)[] {
  if (Array.isArray(given)) return (given as readonly unknown[]).map(ownTool)
  if (isFields(given)) return Object.entries(given).map(([name, tool]) => namedTool(name, tool))
  return refuseConfig(`tools must be a list, or an object of tools by name; received ${describeValue(given)}`)
}

function ownTool(tool: unknown, index: number): Tool {
  if (isTool(tool)) return tool
  return refuseConfig(`tools[${index}] is not made by defineTool; give tools of the AI SDK as a record, by name`)
}

function namedTool(name: string, tool: unknown): Tool | ProviderTool {
  if (!isRecord(tool)) return refuseConfig(`tools.${name} is no tool`)
  if (!isTool(tool)) return fromAiSdk(checkToolName(`the name of tools["${name}"]`, name), tool as unknown as AiSdkTool)
  return tool.name === name ? tool : refuseConfig(`tools.${name} is named "${tool.name}"`)
}
