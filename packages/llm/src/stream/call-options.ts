import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, LanguageModelV4ProviderTool } from '@ai-sdk/provider'
import { definedOnly } from '../json.ts'
import type { Repair } from '../messages.ts'
import { LlmError } from '../model-error.ts'
import type { FunctionTool, ModelRequest, ToolChoice } from '../model-request.ts'
import { mergeHeaders } from '../params/headers.ts'
import { toProviderOptions } from '../params/provider-options.ts'
import { mergedParams, toSettings } from '../params/runtime-params.ts'
import { withCacheMarks, type CacheMarks } from '../prompt/cache-marks.ts'
import { withDownloads, type DownloadContext } from '../prompt/downloads.ts'
import type { ToPromptOptions } from '../prompt/options.ts'
import { promptOf } from '../prompt/prompt-memory.ts'
import { convertMessages } from '../prompt/to-prompt.ts'
import { knownSchema, resolveSchema, type ToolSchema } from '../tools/tool-schema.ts'
import type { CallTarget } from './call-target.ts'

export interface PreparedCall {
  readonly options: LanguageModelV4CallOptions
  readonly repairs: readonly Repair[]
}

export interface CallContext {
  readonly target: CallTarget
  readonly abortSignal: AbortSignal
}

/** Prepares the call of the provider. Equal requests give equal bytes; absent fields stay absent. */
export async function prepareCall(request: ModelRequest, { target, abortSignal }: CallContext): Promise<PreparedCall> {
  const { messages, tools = [], history, output, download } = request
  const { provider, modelId, info } = target
  const params = mergedParams(target.defaults, request.runtimeParams)
  const toPrompt: ToPromptOptions = {
    messages,
    model: { provider, modelId, ...definedOnly({ input: info.input }) },
    ...definedOnly({ instructions: params.systemPrompt ?? request.instructions, history }),
  }
  const { prompt, repairs } = readablePrompt(toPrompt)
  const supportedUrls = async (): ReturnType<DownloadContext['supportedUrls']> => (await target.open()).supportedUrls
  const toolOptions = tools.length === 0 ? {} : { tools: await toTools(tools), toolChoice: toToolChoice(request.toolChoice) }
  const options: LanguageModelV4CallOptions = {
    prompt: download ? await withDownloads(prompt, { download, supportedUrls, abortSignal }) : prompt,
    abortSignal,
    ...toSettings(params),
    ...definedOnly({
      headers: mergeHeaders(target.headers, request.headers),
      providerOptions: toProviderOptions(target, params, request.providerOptions),
      responseFormat: output && definedOnly(output),
      ...toolOptions,
    }),
  }
  return {
    options: target.optionsKey === 'anthropic' ? withCacheMarks(options, request.cache, passingIn(toPrompt, request.cache)) : options,
    repairs,
  }
}

/** Returns how many messages at the end of the prompt later calls do not repeat. */
function passingIn(options: ToPromptOptions, cache: CacheMarks | undefined): number {
  const lasting = typeof cache === 'object' ? cache.lasting?.messages : undefined
  const passing = lasting === undefined ? [] : options.messages.slice(lasting)
  return passing.length === 0 ? 0 : convertMessages({ ...options, messages: passing }, undefined).prompt.length
}

/** Messages that give an empty prompt are a programming error, so a retry would not help. */
function readablePrompt(options: ToPromptOptions): ReturnType<typeof promptOf> {
  const converted = promptOrThrow(options)
  if (converted.prompt.some(({ role }) => role !== 'system')) return converted
  throw new LlmError(
    'invalid-input',
    `messages must have content to send; received ${options.messages.length}, all of them empty or left out`,
  )
}

function promptOrThrow(options: ToPromptOptions): ReturnType<typeof promptOf> {
  try {
    return promptOf(options)
  } catch (cause) {
    throw new LlmError('invalid-input', `the messages cannot be read: ${String(cause)}`, { cause })
  }
}

type CallTool = NonNullable<LanguageModelV4CallOptions['tools']>[number]

/** Usually all schemas are known from an earlier call. A promise for each would dominate the cost. */
function toTools(tools: NonNullable<ModelRequest['tools']>): CallTool[] | Promise<CallTool[]> {
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const made = sorted.map((tool) => (isProviderTool(tool) ? tool : functionTool(tool)))
  return made.every(isMade) ? made : Promise.all(made.map((tool) => Promise.resolve(tool)))
}

function isMade(tool: CallTool | Promise<CallTool>): tool is CallTool {
  return !(tool instanceof Promise)
}

function isProviderTool(tool: FunctionTool | LanguageModelV4ProviderTool): tool is LanguageModelV4ProviderTool {
  return 'type' in tool && tool.type === 'provider'
}

function functionTool(tool: FunctionTool): CallTool | Promise<CallTool> {
  const schema = knownSchema(tool.inputSchema)
  return schema ? withSchema(tool, schema) : resolveSchema(tool.inputSchema).then((found) => withSchema(tool, found))
}

function withSchema(tool: FunctionTool, { jsonSchema }: ToolSchema): LanguageModelV4FunctionTool {
  const { name, description, inputExamples, strict, providerOptions } = tool
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
