import fc from 'fast-check'
import type {
  AssistantMessage,
  AssistantPart,
  ContentItem,
  ContentPart,
  JSONValue,
  Message,
  ProviderMetadata,
  ToolCallPart,
  ToolOutput,
} from '../src/index.ts'
import { assistant } from './transcripts.ts'

export interface Target {
  readonly provider: string
  readonly modelId: string
}

/** Typical content of a provider's answers. */
interface Dialect {
  readonly metadata: (type: 'text' | 'reasoning' | 'call') => readonly (ProviderMetadata | undefined)[]
  /** Metadata of a provider-executed tool; `undefined` if the provider runs none. */
  readonly ownTool: ((id: string) => ProviderMetadata | undefined) | undefined
  readonly ownParts: readonly AssistantPart[]
}

const image = { mediaType: 'image/png', data: { type: 'data', data: 'AQID' } } as const
const plain: Dialect = { metadata: () => [undefined], ownTool: undefined, ownParts: [] }

const dialects: Readonly<Record<string, Dialect>> = {
  anthropic: {
    metadata: (type) =>
      type === 'reasoning'
        ? [undefined, { anthropic: { signature: 'c2ln' } }, { anthropic: { redactedData: 'cmVk' } }]
        : [undefined, { anthropic: { x: 1 } }],
    ownTool: () => undefined,
    ownParts: [],
  },
  openai: {
    metadata: (type) =>
      type === 'reasoning'
        ? [undefined, { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'ZW5j' } }, { openai: { itemId: 'rs_2' } }]
        : [undefined, { openai: { itemId: type === 'text' ? 'msg_1' : 'fc_1' } }],
    ownTool: (id) => ({ openai: { itemId: `ws_${id}` } }),
    ownParts: [{ type: 'custom', kind: 'openai.compaction', providerMetadata: { openai: { itemId: 'cmp_1' } } }],
  },
  google: {
    metadata: () => [undefined, { google: { thoughtSignature: 'c2ln' } }],
    ownTool: (id) => ({ google: { serverToolCallId: id, serverToolType: 'GOOGLE_SEARCH' } }),
    ownParts: [
      { type: 'file', ...image },
      { type: 'reasoning-file', ...image },
    ],
  },
}

/** OpenAI's chat client supports neither reasoning nor provider-executed tools. */
function dialectOf(provider: string): Dialect {
  return provider === 'openai.chat' ? plain : (dialects[provider.split('.')[0] ?? ''] ?? plain)
}

const words = fc.constantFrom('', ' \n', 'word', 'two words', 'lone \ud800 surrogate', '\udc00', 'pair \u{1f600}')
const values: fc.Arbitrary<JSONValue> = fc.constantFrom<JSONValue>({}, { a: 1 }, { deep: ['\ud800', { '\udc00': null }] }, { text: '' })
/** Ids from providers, ids that this package derived from them, and ids that cannot be sent. */
const ownIds = fc.constantFrom('a', 'b', 'a~2', 'a_2', 'b~2~2', '')
const foreignIds = fc.constantFrom('a', 'b', 'a~2', 'a:b', 'a/b', 'x'.repeat(80), `${'x'.repeat(80)}y`, 'ü\ud800', '')
const anyIds = fc.oneof(ownIds, foreignIds)

const files: fc.Arbitrary<ContentItem & ContentPart> = fc.constantFrom(
  { type: 'file', ...image } as const,
  { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://files.test/a.png' } } as const,
  { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'no url' } } as const,
  {
    type: 'file',
    mediaType: 'application/pdf',
    filename: 'a\ud800.pdf',
    data: { type: 'data', data: 'AQID' },
  } as const,
)
const textParts = words.map((value) => ({ type: 'text', text: value }) as const)
const unknownPart = fc.constant({ type: 'hologram' } as never)
const content = fc.array(fc.oneof(textParts, files, unknownPart), { maxLength: 3 })

const users: fc.Arbitrary<Message> = fc.oneof(words, content).map((said) => ({ role: 'user', content: said }) satisfies Message)

const outputs: fc.Arbitrary<ToolOutput> = fc.oneof(
  fc.record({ type: fc.constantFrom('text', 'error-text'), value: words }),
  fc.record({ type: fc.constantFrom('json', 'error-json'), value: values }),
  fc.constant<ToolOutput>({ type: 'execution-denied' }),
  fc.record({ type: fc.constant('execution-denied'), reason: words }),
  fc.record({ type: fc.constant('content'), value: content }),
  fc.constant({ type: 'hologram' } as never),
)

const results: fc.Arbitrary<Message> = fc.record({
  role: fc.constant('tool-result'),
  toolCallId: anyIds,
  toolName: fc.constant('x'),
  output: outputs,
})

const strangers = fc.constant({ role: 'system', content: 'I am the boss' } as never)

const withMetadata = <P extends AssistantPart>(part: P, providerMetadata: ProviderMetadata | undefined): P =>
  providerMetadata ? { ...part, providerMetadata } : part

function callsOf(dialect: Dialect, ids: fc.Arbitrary<string>): fc.Arbitrary<AssistantPart> {
  return fc
    .record({
      toolCallId: ids,
      toolName: fc.constantFrom('x', 'y', ''),
      input: values,
      invalid: fc.constantFrom<ToolCallPart['invalid'][]>(undefined, undefined, 'truncated', 'not-json'),
      metadata: fc.constantFrom(...dialect.metadata('call')),
    })
    .map(({ toolCallId, toolName, input, invalid, metadata }) =>
      withMetadata(
        {
          type: 'tool-call',
          toolCallId,
          toolName,
          ...(invalid ? { input: {}, invalid, inputText: '{"' } : { input }),
        } as const,
        metadata,
      ),
    )
}

/** A search that the provider runs: its call, its result, or both. */
function ownToolParts({ ownTool }: Dialect): fc.Arbitrary<AssistantPart[]> {
  if (!ownTool) return fc.constant([])
  return fc
    .record({ id: fc.constantFrom('srvtoolu_a', 'srvtoolu_b'), parts: fc.constantFrom('call', 'result', 'both') })
    .map(({ id, parts }) => {
      const metadata = ownTool(id)
      const of = { toolCallId: id, toolName: 'web_search' } as const
      const call = withMetadata({ type: 'tool-call', ...of, input: { query: 'q' }, providerExecuted: true } as const, metadata)
      const result = withMetadata({ type: 'tool-result', ...of, result: [] } as const, metadata)
      return parts === 'call' ? [call] : parts === 'result' ? [result] : [call, result]
    })
}

function answersOf({ provider, modelId }: Target, target: Target): fc.Arbitrary<Message> {
  const dialect = dialectOf(provider)
  const texts = (type: 'text' | 'reasoning'): fc.Arbitrary<AssistantPart> =>
    fc
      .record({ value: words, metadata: fc.constantFrom(...dialect.metadata(type)) })
      .map(({ value, metadata }) => withMetadata({ type, text: value }, metadata))
  const part = fc.oneof(
    texts('text'),
    texts('reasoning'),
    callsOf(dialect, provider === target.provider ? ownIds : foreignIds),
    fc.constantFrom<AssistantPart[]>(
      ...dialect.ownParts,
      { type: 'source', sourceType: 'url', id: 's', url: 'https://source.test/' },
      { type: 'approval-request', approvalId: 'p', toolCallId: 'a' },
      { type: 'hologram' } as never,
      null as never,
    ),
  )
  const parts = fc.array(fc.oneof({ arbitrary: part.map((one) => [one]), weight: 4 }, ownToolParts(dialect)), {
    maxLength: 6,
  })
  const end = fc.constantFrom<Partial<AssistantMessage>[]>(
    { stopReason: 'stop' },
    { stopReason: 'stop', paused: true },
    { stopReason: 'tool-calls' },
    { stopReason: 'length' },
    { stopReason: 'aborted' },
    { stopReason: 'error' },
  )
  return fc.record({ parts, end }).map(({ parts, end }) => assistant(parts.flat(), { provider, modelId, ...end }))
}

/**
 * Transcripts with all kinds of faults: calls and results without each other, duplicate ids, parts of other models, truncated
 * answers, empty texts.
 */
export function transcriptsFor({ provider, modelId }: Target, maxLength = 10): fc.Arbitrary<Message[]> {
  const target: Target = { provider, modelId }
  const others = ['anthropic.messages', 'openai.responses', 'openai.chat', 'google.generative-ai', 'acme.chat']
  const origins: Target[] = [
    { provider, modelId: 'an-older-model' },
    ...others.filter((name) => name !== provider).map((name) => ({ provider: name, modelId })),
  ]
  const message = fc.oneof(
    { arbitrary: users, weight: 3 },
    { arbitrary: results, weight: 5 },
    { arbitrary: answersOf(target, target), weight: 5 },
    ...origins.map((origin) => ({ arbitrary: answersOf(origin, target), weight: 1 })),
    strangers,
  )
  return fc.array(message, { minLength: 1, maxLength, size: 'max' })
}
