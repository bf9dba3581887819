import type { LanguageModelV4Content, LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { definedOnly } from '../json.ts'
import { mergeMetadata } from '../stream/provider-metadata.ts'

type TextBlock = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>

/** Returns the `doGenerate` result that equals a stream. Rejects with the stream's first error. */
export async function collect(stream: ReadableStream<LanguageModelV4StreamPart>): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = []
  const blocks = new Map<string, TextBlock>()
  const result: Partial<LanguageModelV4GenerateResult> = {}
  for await (const part of stream) {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const block: TextBlock = {
          type: part.type === 'text-start' ? 'text' : 'reasoning',
          text: '',
          ...definedOnly({ providerMetadata: part.providerMetadata }),
        }
        blocks.set(part.id, block)
        content.push(block)
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end': {
        const block = blocks.get(part.id)
        if (!block) break
        if ('delta' in part) block.text += part.delta
        const providerMetadata = mergeMetadata(block.providerMetadata, part.providerMetadata)
        const citations = 'citations' in part ? part.citations : undefined
        Object.assign(block, definedOnly({ providerMetadata, citations }))
        break
      }
      case 'tool-call':
      case 'tool-result':
      case 'file':
      case 'reasoning-file':
      case 'source':
      case 'custom':
      case 'tool-approval-request':
        content.push(part)
        break
      case 'stream-start':
        result.warnings = part.warnings
        break
      case 'response-metadata':
        result.response = definedOnly({ id: part.id, modelId: part.modelId, timestamp: part.timestamp })
        break
      case 'finish':
        Object.assign(result, definedOnly({ finishReason: part.finishReason, usage: part.usage, providerMetadata: part.providerMetadata }))
        break
      case 'error':
        throw part.error
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        break
    }
  }
  const { finishReason, usage, warnings = [] } = result
  if (!finishReason || !usage) throw new Error('the scripted stream ended without a finish')
  return { ...result, content, finishReason, usage, warnings }
}
