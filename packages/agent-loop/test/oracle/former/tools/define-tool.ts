import type { FlexibleSchema, JSONValue } from '@bowline/llm'
import { definedFields } from '@bowline/llm/arguments'
import { checkKeys, checkRequired, refuseConfig } from '../base/check-options.ts'
import { isRecord } from '../base/json.ts'
import type { Tool, ToolContext, ToolFields, ToolOptions } from '../contract/agent.ts'
import type { AiSdkTool, InputSchema, ReconcileContext, Reconciled, ToolFacts } from '../contract/tool.ts'
import { buildTool, checkToolName } from './build-tool.ts'
import { fromAiSdk } from './from-ai-sdk.ts'
import { isTool } from './tool.ts'

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
export type SdkInput<From extends AiSdkTool> = From['inputSchema'] extends FlexibleSchema<infer Input> ? Input : JSONValue

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
