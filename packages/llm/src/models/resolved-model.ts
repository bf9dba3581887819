import type { RuntimeParams } from '../params/runtime-params.ts'
import type { OpenModel } from './language-model.ts'
import type { ModelInfo } from '../model-info.ts'

/** A global symbol, shared by all installed copies of this package. */
const callKey: unique symbol = Symbol.for('bowline.llm.resolved-model') as never

/** A model that a registry resolved, with its facts and settings. */
export interface ResolvedModel {
  /** Name of the provider in the registry. */
  readonly provider: string
  readonly modelId: string
  /** `provider:model`, without aliases. */
  readonly ref: string
  readonly info: ModelInfo
  /** Default runtime params of each call; every other layer overrides them. */
  readonly defaults: RuntimeParams
  /** Internal data of this package. */
  readonly [callKey]: ModelCall
}

/** Data needed to call a resolved model. */
export interface ModelCall {
  /** Names that the model reports. Messages record them as their origin. */
  readonly provider: string
  readonly modelId: string
  /** Key under which its client reads provider options. */
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

/** Returns the key under which a client reads its options: `openai` for a model of `openai.responses`. */
export function optionsKeyOf(provider: string): string {
  return provider.split('.')[0] ?? provider
}
