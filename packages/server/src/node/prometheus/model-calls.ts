import { tracingChannel, type ChannelListener } from 'node:diagnostics_channel'
import { costToNumber, type CallReport } from '@bowline/llm'
import type { Instruments } from './instruments.ts'

const channel = tracingChannel('bowline:llm')

/** Counts all model calls of this process when they end. Returns a function that stops it. */
export function countModelCalls({ tokens, cost }: Instruments): () => void {
  const onEnd: ChannelListener = (message) => {
    const { modelId: model, result } = message as CallReport
    if (!result) return
    const { usage } = result
    const kinds = {
      input: usage.inputTokens,
      output: usage.outputTokens,
      'cache-read': usage.cacheReadTokens,
      'cache-write': usage.cacheWriteTokens,
      reasoning: usage.reasoningTokens,
    }
    for (const [kind, count] of Object.entries(kinds)) if (count) tokens.inc({ model, kind }, count)
    if (result.cost) cost.inc({ model, currency: result.cost.currency }, costToNumber(result.cost))
  }
  channel.asyncStart.subscribe(onEnd)
  return () => void channel.asyncStart.unsubscribe(onEnd)
}
