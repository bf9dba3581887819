import type { FunctionTool, LanguageModelV4ProviderTool } from '@bowline/llm'
import type { Tool } from '../contract/agent.ts'
import { isTool } from './tool.ts'

/** A tool that its provider runs. It is passed to the model call; its calls and results are parts of the answer. */
export interface ProviderTool {
  readonly kind: 'provider'
  readonly name: string
  readonly declaration: LanguageModelV4ProviderTool
}

/** What a model is told of a tool. */
export function declarationOf(tool: Tool | ProviderTool): FunctionTool | LanguageModelV4ProviderTool {
  return isTool(tool) ? (tool.declaration ?? functionTool(tool)) : tool.declaration
}

function functionTool({ name, description, inputSchema, strict, inputExamples, providerOptions }: Tool): FunctionTool {
  return {
    ...{ name, description, inputSchema },
    ...(strict !== undefined && { strict }),
    ...(inputExamples && { inputExamples }),
    ...(providerOptions && { providerOptions }),
  }
}
