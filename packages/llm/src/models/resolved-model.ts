import type { RuntimeParams } from '../params/runtime-params.ts'
import type { OpenModel } from './language-model.ts'
import type { ModelInfo } from '../model-info.ts'

/** Shared by all installed copies of this package. */
const callKey: unique symbol = Symbol.for('bowline.llm.resolved-model') as never

/** A model that a registry resolved, with its facts and settings. */
export interface ResolvedModel {
  /** The name of the provider in the registry. */
  readonly provider: string
  readonly modelId: string
  /** `provider:model`, without aliases. */
  readonly ref: string
  readonly info: ModelInfo
  /** The lowest layer of the runtime params of each call. */
  readonly defaults: RuntimeParams
  /** For this package only. */
  readonly [callKey]: ModelCall
}

/** How a resolved model is called. */
export interface ModelCall {
  /** As the model names itself, which is how messages record their origin. */
  readonly provider: string
  readonly modelId: string
  /** The key under which its client reads provider options. */
  readonly optionsKey: string
  readonly headers: Readonly<Record<string, string>>
  readonly open: OpenModel
}

export function resolvedModel(facts: Omit<ResolvedModel, typeof callKey>, call: ModelCall): ResolvedModel {
  return Object.freeze(Object.defineProperty({ ...facts }, callKey, { value: call })) as ResolvedModel
}

export function isResolvedModel(value: unknown): value is ResolvedModel {
  return typeof value === 'object' && value !== null && callKey in value
}

export function callOf(model: ResolvedModel): ModelCall {
  return model[callKey]
}

/** The key under which a client reads its options by itself: `openai` for a model of `openai.responses`. */
export function optionsKeyOf(provider: string): string {
  return provider.split('.')[0] ?? provider
}
