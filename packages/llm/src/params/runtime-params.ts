import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import * as z from 'zod'
import { definedOnly } from '../json.ts'
import type { JSONValue } from '../messages.ts'
import { LlmError } from '../model-error.ts'

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** Settings of one call that may come from outside, at run time. An absent or `undefined` field leaves the default. */
export interface RuntimeParams {
  /** A reference that a registry of models resolves. */
  readonly model?: string | undefined
  /** 0 to 2. */
  readonly temperature?: number | undefined
  readonly maxTokens?: number | undefined
  /** 0 to 1. */
  readonly topP?: number | undefined
  readonly topK?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
  /** Takes the place of the instructions for this call. */
  readonly systemPrompt?: string | undefined
  readonly reasoning?: (typeof reasoningEfforts)[number] | undefined
  readonly seed?: number | undefined
  /** Options under the called provider's own key, without that key. */
  readonly providerSpecific?: Readonly<Record<string, JSONValue>> | undefined
}

/** Must refuse unknown fields and values out of range, naming the field's path. */
export const runtimeParamsSchema: z.ZodType<RuntimeParams> = z.strictObject({
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().positive().optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.int().positive().optional(),
  stopSequences: z.array(z.string()).optional(),
  systemPrompt: z.string().optional(),
  reasoning: z.enum(reasoningEfforts).optional(),
  seed: z.int().optional(),
  providerSpecific: z.record(z.string(), z.json()).optional(),
})

/** Lowest layer first; only defined fields override. `providerSpecific` is merged by its top-level keys. */
export function mergeRuntimeParams(...layers: readonly (RuntimeParams | undefined)[]): RuntimeParams {
  const given = layers.filter((layer) => layer !== undefined)
  const merged = given.reduce<RuntimeParams>((below, layer) => ({ ...below, ...definedOnly(layer) }), {})
  if (!merged.providerSpecific) return merged
  const specific = given.flatMap(({ providerSpecific }) => safeEntries(providerSpecific))
  return { ...merged, providerSpecific: Object.fromEntries(specific) }
}

/** Throws `LlmError` for params that do not fit the schema. */
export function checkRuntimeParams(params: RuntimeParams, place = 'runtimeParams'): void {
  const { error } = runtimeParamsSchema.safeParse(params)
  if (!error) return
  const issues = error.issues.map(({ path, message }) => `${[place, ...path].join('.')}: ${message}`)
  throw new LlmError('CONFIG', issues.join('; '))
}

type Settings = Pick<
  LanguageModelV4CallOptions,
  'temperature' | 'maxOutputTokens' | 'topP' | 'topK' | 'stopSequences' | 'reasoning' | 'seed'
>

/** The settings that every provider knows under the same name. What is absent stays absent. */
export function toSettings(params: RuntimeParams): Settings {
  const { temperature, maxTokens, topP, topK, stopSequences, reasoning, seed } = params
  return definedOnly({
    temperature,
    maxOutputTokens: maxTokens,
    topP,
    topK,
    stopSequences: stopSequences && [...stopSequences],
    reasoning,
    seed,
  })
}

const unsafeKeys: readonly string[] = ['__proto__', 'constructor', 'prototype']

/** The entries of `providerSpecific` without keys that could reach a prototype. */
export function safeEntries(specific: RuntimeParams['providerSpecific']): [string, JSONValue][] {
  return Object.entries(specific ?? {}).filter(([key]) => !unsafeKeys.includes(key))
}
