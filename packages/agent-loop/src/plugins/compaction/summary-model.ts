import { streamMessage } from '@bowline/llm'
import type { AssistantMessage, Clock, ModelRequest } from '@bowline/llm'
import type { ModelName } from '../../events/turn-events.ts'
import type { SummaryRequest } from './summary.ts'

/** What writes summaries. `call` must always resolve: a failure is an answer with an error, as in `streamMessage`. */
export interface SummaryModel {
  readonly name: ModelName
  readonly contextWindow?: number | undefined
  readonly maxOutputTokens?: number | undefined
  call(request: SummaryRequest & { readonly maxTokens: number; readonly abortSignal: AbortSignal }): Promise<AssistantMessage>
}

export interface SummaryModelOptions extends Pick<ModelRequest, 'model' | 'models' | 'runtimeParams'> {
  readonly name: ModelName
  readonly contextWindow?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly clock: Clock
}

/** Any model that `streamMessage` can call. Params that are meant for the agent's own answers are left out. */
export function summaryModel({ model, models, runtimeParams, clock, ...facts }: SummaryModelOptions): SummaryModel {
  const { model: _model, systemPrompt: _prompt, stopSequences: _stops, ...params } = runtimeParams ?? {}
  return {
    ...facts,
    call: ({ instructions, messages, maxTokens, abortSignal }) =>
      streamMessage({
        ...{ model, instructions, messages, abortSignal, clock },
        ...(models && { models }),
        runtimeParams: { ...params, maxTokens },
      }).result(),
  }
}
