import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Attributes } from '@opentelemetry/api'
import { definedOnly } from '../json.ts'
import type { AssistantMessage } from '../messages.ts'
import { costToNumber } from '../usage/cost.ts'
import type { CallFacts } from './call-observer.ts'
import { finishReason, inputMessages, outputMessages } from './conversation.ts'
import { providerName } from './provider-names.ts'
import type { TelemetryOptions } from './telemetry-options.ts'

// Names that begin with gen_ai follow OpenTelemetry's conventions for generative AI, which are not stable yet. They occur only in
// this file.

export function ofStart({ provider, modelId }: CallFacts, metadata: TelemetryOptions['metadata'] = {}): Attributes {
  const own = Object.entries(metadata).map(([key, value]) => [`bowline.metadata.${key}`, value] as const)
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerName(provider),
    'gen_ai.request.model': modelId,
    ...Object.fromEntries(own),
  }
}

export function ofRequest(options: LanguageModelV4CallOptions): Attributes {
  return definedOnly({
    'gen_ai.request.max_tokens': options.maxOutputTokens,
    'gen_ai.request.temperature': options.temperature,
    'gen_ai.request.top_p': options.topP,
    'gen_ai.request.top_k': options.topK,
    'gen_ai.request.stop_sequences': options.stopSequences,
  })
}

export function ofResponse(message: AssistantMessage): Attributes {
  const { response, usage, cost, timing, error, stopReason } = message
  return definedOnly({
    'gen_ai.response.id': response?.id,
    'gen_ai.response.model': response?.modelId,
    'gen_ai.response.finish_reasons': finishReasons(message),
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'error.type': error?.kind,
    'bowline.stop_reason': stopReason,
    // A number, because span stores cannot add up texts. The exact cost is in the message.
    'bowline.cost': cost && costToNumber(cost),
    'bowline.cost_currency': cost?.currency,
    'bowline.usage.estimated': usage.estimated,
    'bowline.first_delta_ms': timing.firstDeltaMs,
  })
}

export function ofInput(prompt: LanguageModelV4Prompt): Attributes {
  return { 'gen_ai.input.messages': JSON.stringify(inputMessages(prompt)) }
}

export function ofOutput(message: AssistantMessage): Attributes {
  return { 'gen_ai.output.messages': JSON.stringify(outputMessages(message)) }
}

/** Returns the finish reason, in the provider's own wording if known. Undefined if the call did not finish. */
function finishReasons(message: AssistantMessage): string[] | undefined {
  if (message.rawStopReason !== undefined) return [message.rawStopReason]
  const cutShort = message.stopReason === 'error' || message.stopReason === 'aborted'
  return cutShort ? undefined : [finishReason(message)]
}
