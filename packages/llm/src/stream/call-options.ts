import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool,
} from '@ai-sdk/provider'
import { definedOnly } from '../json.ts'
import type { Repair } from '../messages.ts'
import type { FunctionTool, ModelRequest, ToolChoice } from '../model-request.ts'
import { toProviderOptions } from '../params/provider-options.ts'
import { toSettings } from '../params/runtime-params.ts'
import { toPrompt } from '../prompt/to-prompt.ts'
import { resolveSchema } from '../tools/tool-schema.ts'

export interface PreparedCall {
  readonly options: LanguageModelV4CallOptions
  readonly repairs: readonly Repair[]
}

/** What the provider is called with. The same request gives the same bytes; what is absent is absent. */
export async function prepareCall(request: ModelRequest, abortSignal: AbortSignal): Promise<PreparedCall> {
  const { model, messages, tools = [], headers, history, runtimeParams = {} } = request
  const { prompt, repairs } = toPrompt({
    messages,
    model,
    ...definedOnly({ instructions: runtimeParams.systemPrompt ?? request.instructions, history }),
  })
  const toolOptions =
    tools.length === 0 ? {} : { tools: await toTools(tools), toolChoice: toToolChoice(request.toolChoice) }
  const optional = definedOnly({
    headers: headers && { ...headers },
    providerOptions: toProviderOptions(request),
    ...toolOptions,
  })
  return { options: { prompt, abortSignal, ...toSettings(runtimeParams), ...optional }, repairs }
}

function toTools(tools: NonNullable<ModelRequest['tools']>): Promise<NonNullable<LanguageModelV4CallOptions['tools']>> {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
  return Promise.all(sorted.map(async (tool) => (isProviderTool(tool) ? tool : toFunctionTool(tool))))
}

function isProviderTool(tool: FunctionTool | LanguageModelV4ProviderTool): tool is LanguageModelV4ProviderTool {
  return 'type' in tool && tool.type === 'provider'
}

async function toFunctionTool(tool: FunctionTool): Promise<LanguageModelV4FunctionTool> {
  const { name, description, inputSchema, inputExamples, strict, providerOptions } = tool
  const { jsonSchema } = await resolveSchema(inputSchema)
  const optional = definedOnly({
    description,
    inputExamples: inputExamples && [...inputExamples],
    strict,
    providerOptions,
  })
  return { type: 'function', name, inputSchema: jsonSchema, ...optional }
}

function toToolChoice(choice: ToolChoice | undefined): LanguageModelV4CallOptions['toolChoice'] {
  if (choice === undefined) return undefined
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.toolName }
}
