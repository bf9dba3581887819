import type { JSONValue } from '@bowline/llm'
import { definedFields, describeValue, isFields } from '@bowline/llm/arguments'
import { checkKeys, checkRequired, refuseConfig } from '../base/checks.ts'
import { isRecord } from '../base/json.ts'
import type { AgentTools, Tool, ToolContext, ToolFields, ToolOptions } from '../contract/agent.ts'
import type { AiSdkTool, InferInput, InputSchema, ReconcileContext, Reconciled, ToolFacts } from '../contract/tool.ts'
import type { OutputOfTool, SdkInput, SdkOutput } from '../contract/tool-output.ts'
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
  'recheck',
  'maxOutputCharacters',
  'strict',
  'inputExamples',
  'providerOptions',
]
const toolKeys = [...factKeys, 'inputSchema', 'execute', 'toModelOutput']

/** Names a tool of the AI SDK and adds the settings that the AI SDK does not know. A setting given here replaces the one of the tool. */
export interface AdoptedToolOptions<
  From extends AiSdkTool,
  Details extends JSONValue = JSONValue,
  Name extends string = string,
> extends Partial<Omit<ToolFacts, 'name'>> {
  /** The tool, made by `tool()` or `dynamicTool()` of the AI SDK. */
  readonly from: From
  /** Name by which the model calls the tool: letters, digits, `_` and `-`, at most 64. */
  readonly name: Name
  /** Whether the call must be approved before it runs. */
  readonly needsApproval?: boolean | ((input: SdkInput<From>, context: ToolContext) => boolean | Promise<boolean>)
  /** Called after a crash, before a `once` call counts as unknown. */
  readonly reconcile?: (input: SdkInput<From>, context: ReconcileContext) => Promise<Reconciled<Details>>
}

/** The functions with their full types: if `execute` returns a union, `Output` has only one part of it. */
interface ToolFunctions<Execute, ToModelOutput> {
  readonly execute?: Execute
  readonly toModelOutput?: ToModelOutput
}

/** Creates a tool that carries the types of its input and output. Throws `AgentError` `invalid-config` that names the wrong option. */
export function defineTool<
  Schema extends InputSchema,
  Details extends JSONValue = JSONValue,
  Output = never,
  Name extends string = string,
  Execute = unknown,
  ToModelOutput = unknown,
>(
  options: ToolOptions<Schema, Details, Output, Name> & ToolFunctions<Execute, ToModelOutput>,
): Tool<Name, InferInput<Schema>, OutputOfTool<Execute, ToModelOutput>> {
  checkKeys('defineTool.options', options, toolKeys)
  return buildTool(options as unknown as Partial<ToolFields>) as Tool<Name, InferInput<Schema>, OutputOfTool<Execute, ToModelOutput>>
}

/**
 * Creates a tool from a tool of the AI SDK, under a name and with the settings that the AI SDK does not know, such as `effect`.
 * Throws `AgentError` `invalid-config` that names the wrong option.
 */
export function adoptTool<From extends AiSdkTool, Details extends JSONValue = JSONValue, Name extends string = string>(
  options: AdoptedToolOptions<From, Details, Name>,
): Tool<Name, SdkInput<From>, SdkOutput<From>> {
  checkKeys('adoptTool.options', options, [...factKeys, 'from'])
  const { from, ...given } = options as unknown as AdoptedToolOptions<AiSdkTool>
  checkRequired('from', from, 'a tool of the AI SDK', (given) => isRecord(given) && 'inputSchema' in given && !isTool(given))
  const tool = fromAiSdk(checkToolName('name', given.name), from, definedFields(given))
  return isTool(tool)
    ? (tool as Tool<Name, SdkInput<From>, SdkOutput<From>>)
    : refuseConfig(`the tool ${tool.name} runs at its provider; put it into tools as it is, by name`)
}

/** The tools of an agent, in the order in which they were given. Each name occurs once. */
export interface ToolSet {
  /** Tools whose calls this package settles. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Tools that their provider runs. */
  readonly providerTools: ReadonlyMap<string, ProviderTool>
}

/** Collects the tools of an agent. Throws `invalid-config`. */
export function toolSetOf(given: AgentTools): ToolSet {
  const tools = new Map<string, Tool>()
  const providerTools = new Map<string, ProviderTool>()
  for (const tool of listOf(given)) {
    if (tools.has(tool.name) || providerTools.has(tool.name)) refuseConfig(`tools has two tools named "${tool.name}"; rename one of them`)
    if (isTool(tool)) tools.set(tool.name, tool)
    else providerTools.set(tool.name, tool)
  }
  return { tools, providerTools }
}

function listOf(given: AgentTools): readonly (Tool | ProviderTool)[] {
  if (Array.isArray(given)) return (given as readonly unknown[]).map(ownTool)
  if (isFields(given)) return Object.entries(given).map(([name, tool]) => namedTool(name, tool))
  return refuseConfig(`tools must be a list, or an object of tools by name; received ${describeValue(given)}`)
}

function ownTool(tool: unknown, index: number): Tool {
  if (isTool(tool)) return tool
  return refuseConfig(`tools[${index}] must be made by defineTool; give tools of the AI SDK in an object, by name`)
}

function namedTool(name: string, tool: unknown): Tool | ProviderTool {
  if (!isRecord(tool)) return refuseConfig(`tools.${name} must be a tool; received ${describeValue(tool)}`)
  if (!isTool(tool)) return fromAiSdk(checkToolName(`the name of tools["${name}"]`, name), tool as unknown as AiSdkTool)
  return tool.name === name ? tool : refuseConfig(`tools.${name} has the name "${tool.name}"; use the same name twice`)
}
