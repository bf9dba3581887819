import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import * as llm from '../src/index.ts'
import * as testing from '../src/testing/index.ts'
import { traitsOf } from '../src/errors/error-kinds.ts'
import { call, eventsOf, finish, readAll } from './support.ts'

/** Returns the names in `export type`, which do not exist at run time. */
async function typeNames(path: string): Promise<string[]> {
  const source = await readFile(new URL(path, import.meta.url), 'utf8')
  const lists = [...source.matchAll(/export type \{([^}]*)\}/g)].map(([, names]) => names ?? '')
  return lists
    .flatMap((names) => names.split(','))
    .map((name) => name.trim())
    .filter(Boolean)
    .sort()
}

describe('the visible surface', () => {
  it('exports these values', () => {
    expect(Object.keys(llm).sort()).toEqual([
      'LlmError',
      'addCost',
      'addUsage',
      'checkInputSchema',
      'classifyError',
      'costOf',
      'costToNumber',
      'createModels',
      'createRedaction',
      'describeModel',
      'findSchemaFault',
      'fromModelMessages',
      'holdingClock',
      'jsonSchemaOf',
      'mergeRuntimeParams',
      'readEvents',
      'resolveSchema',
      'runtimeParamsSchema',
      'streamMessage',
      'systemClock',
      'toPrompt',
      'validateWith',
    ])
    expect(Object.keys(testing).sort()).toEqual(['manualClock', 'scriptedModel'])
  })

  it('exports these types', async () => {
    expect(await typeNames('../src/index.ts')).toEqual([
      'AnyLanguageModel',
      'ApprovalRequestPart',
      'AssistantFilePart',
      'AssistantMessage',
      'AssistantPart',
      'AssistantTextPart',
      'BlockEvent',
      'CacheMarks',
      'CachePlace',
      'CallReport',
      'CallResult',
      'Clock',
      'ContentItem',
      'ContentPart',
      'Cost',
      'CustomPart',
      'Decimal',
      'Download',
      'ErrorContext',
      'ErrorKind',
      'FileData',
      'FilePart',
      'FlexibleSchema',
      'FromModelMessagesOptions',
      'FunctionTool',
      'HistoryOptions',
      'ImagePart',
      'Instructions',
      'JSONObject',
      'JSONSchema7',
      'JSONValue',
      'JsonOutput',
      'LanguageModelV4',
      'LanguageModelV4CallOptions',
      'LanguageModelV4FinishReason',
      'LanguageModelV4Prompt',
      'LanguageModelV4ProviderTool',
      'LanguageModelV4StreamPart',
      'LanguageModelV4Usage',
      'LastingPart',
      'Message',
      'MessageEvent',
      'MessageStream',
      'ModelDescription',
      'ModelError',
      'ModelInfo',
      'ModelPrice',
      'ModelRef',
      'ModelRequest',
      'Models',
      'ModelsOptions',
      'PriceTier',
      'ProviderEntry',
      'ProviderLike',
      'ProviderMetadata',
      'ProviderOptions',
      'ProviderSettings',
      'ProviderToolResultPart',
      'RedactConfig',
      'Redaction',
      'Repair',
      'RepairCode',
      'ResolvedModel',
      'RuntimeParams',
      'SchemaFault',
      'SchemaIssue',
      'SchemaResult',
      'SentRequest',
      'SourcePart',
      'StopReason',
      'TelemetryOptions',
      'TextPart',
      'Timeouts',
      'TimerOptions',
      'ToPromptOptions',
      'TokenPrices',
      'ToolCallPart',
      'ToolChoice',
      'ToolOutput',
      'ToolResultMessage',
      'ToolSchema',
      'Usage',
      'UserMessage',
      'Warning',
      'WholePart',
    ])
    expect(await typeNames('../src/testing/index.ts')).toEqual([
      'Action',
      'ManualClock',
      'Script',
      'ScriptedModel',
      'ScriptedModelOptions',
      'ScriptedToolCall',
      'Step',
    ])
  })

  it('has these event types', async () => {
    const whole = await readAll(call({ text: 'a', reasoning: 'b', toolCalls: [{ name: 'x', input: {} }] }).stream)
    const parts = await eventsOf([{ type: 'custom', kind: 'acme.note' }, finish()])
    expect([...new Set([...whole, ...parts].map(({ type }) => type))].sort()).toEqual([
      'content-part',
      'message-end',
      'message-start',
      'reasoning-delta',
      'reasoning-end',
      'reasoning-start',
      'text-delta',
      'text-end',
      'text-start',
      'tool-call-delta',
      'tool-call-end',
      'tool-call-start',
    ])
  })

  it('has these kinds of errors', () => {
    expect(Object.keys(traitsOf).sort()).toEqual([
      'aborted',
      'auth',
      'auth-permanent',
      'bad-request',
      'billing',
      'config',
      'content-blocked',
      'context-overflow',
      'empty-response',
      'history-invalid',
      'malformed-response',
      'model-not-found',
      'network',
      'output-budget',
      'overloaded',
      'payload-too-large',
      'permission',
      'rate-limit',
      'server-error',
      'stream-broken',
      'timeout',
      'unknown',
    ])
  })

  it('recognizes an LlmError of another installed copy', () => {
    const other = Object.assign(new Error('x'), { [Symbol.for('bowline.llm.error')]: true })
    expect(llm.LlmError.isInstance(other)).toBe(true)
    expect(llm.LlmError.isInstance(new Error('x'))).toBe(false)
    expect(llm.LlmError.isInstance(null)).toBe(false)
    const hostile = new Proxy(
      {},
      {
        has() {
          throw new Error('looked at')
        },
      },
    )
    expect(llm.LlmError.isInstance(hostile)).toBe(false)
  })
})
