import type { FlexibleSchema, JSONValue } from '@bowline/llm'
import { checkKeys, refuseConfig } from '../agent/check-options.ts'
import { isRecord } from '../json.ts'
import { buildTool, checkToolName } from './build-tool.ts'
import { fromAiSdk } from './from-ai-sdk.ts'
import type { AiSdkTool } from './from-ai-sdk.ts'
import { isTool } from './tool.ts'
import type { InputSchema, ReconcileContext, Reconciled, Tool, ToolContext, ToolFacts, ToolOptions } from './tool.ts'

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

/** Throws `invalid-config` for options that are unknown or make no sense. */
export function defineTool<Schema extends InputSchema, Details extends JSONValue = JSONValue>(
  options: ToolOptions<Schema, Details>,
): Tool
export function defineTool<From extends AiSdkTool, Details extends JSONValue = JSONValue>(
  options: AdoptedToolOptions<From, Details>,
): Tool
export function defineTool(options: object): Tool {
  if (!isRecord(options) || !('from' in options)) {
    checkKeys('defineTool.options', options, toolKeys)
    return buildTool(options)
  }
  checkKeys('defineTool.options with from', options, [...factKeys, 'from'])
  const { from, ...given } = options as unknown as AdoptedToolOptions<AiSdkTool>
  if (typeof from !== 'object' || from === null || isTool(from)) return refuseConfig('from must be a tool of the AI SDK')
  const tool = fromAiSdk(checkToolName('name', given.name), from, given)
  return isTool(tool) ? tool : refuseConfig(`the tool ${tool.name} runs at its provider: give it by name, as it is`)
}
