import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import * as z from 'zod'
import { describeValue, suggestion } from '../arguments.ts'
import { check } from '../check.ts'
import { definedOnly } from '../json.ts'
import type { JSONValue } from '../messages.ts'
import { LlmError } from '../model-error.ts'

const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** Settings of one call that may come from outside at run time. An absent or `undefined` field leaves the default. */
export interface RuntimeParams {
  /** Reference for a registry of models. */
  readonly model?: string | undefined
  /** From 0 to 2. */
  readonly temperature?: number | undefined
  readonly maxTokens?: number | undefined
  /** From 0 to 1. */
  readonly topP?: number | undefined
  readonly topK?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
  /** Replaces the instructions for this call. */
  readonly systemPrompt?: string | undefined
  readonly reasoning?: (typeof reasoningEfforts)[number] | undefined
  readonly seed?: number | undefined
  /** Options of the called provider, without the provider's key around them. */
  readonly providerSpecific?: Readonly<Record<string, JSONValue>> | undefined
}

const fields = {
  model: z
    .string(must('a text with at least one character'))
    .min(1, must('a text with at least one character'))
    .optional()
    .describe('Name of the model, one of those that the provider offers. Default: the first of them.'),
  temperature: upTo(2).optional().describe('0 (predictable) to 2 (varied).'),
  maxTokens: positive().optional().describe('Most tokens of the answer.'),
  topP: upTo(1).optional().describe('Samples among the likeliest tokens up to this probability, 0 to 1. Set this or temperature.'),
  topK: positive().optional().describe('Samples among so many of the likeliest tokens.'),
  stopSequences: z
    .array(z.string(must('a text')), must('a list of texts'))
    .optional()
    .describe('The answer ends before the first of these.'),
  systemPrompt: z.string(must('a text')).optional().describe('Replaces the instructions of the agent for this call.'),
  reasoning: z
    .enum(reasoningEfforts, must(`one of ${reasoningEfforts.join(', ')}`))
    .optional()
    .describe('How much the model thinks before it answers.'),
  seed: z.int(must('a whole number')).optional().describe('The same seed makes answers alike where the provider supports it.'),
  providerSpecific: z
    .record(z.string(), z.json().optional() as unknown as z.ZodType<JSONValue>, must('an object of JSON values'))
    .optional()
    .describe('Options of the called provider, as it names them, without the id of the provider.'),
} satisfies Record<keyof RuntimeParams, z.ZodType>

export const runtimeParamNames: readonly string[] = Object.keys(fields)

/** A zod schema that refuses unknown fields and values out of range. Errors name the path of the field. */
export const runtimeParamsSchema: z.ZodType<RuntimeParams> = z.strictObject(fields, {
  error: ({ code, input, keys }) =>
    code === 'unrecognized_keys' ? noFields(keys as readonly string[]) : `must be an object; received ${describeValue(input)}`,
})

function must(wanted: string): { error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => `must be ${wanted}; received ${describeValue(input)}` }
}

function upTo(most: number): z.ZodType<number> {
  const wanted = must(`a number from 0 to ${most}`)
  return z.number(wanted).min(0, wanted).max(most, wanted)
}

function positive(): z.ZodType<number> {
  const wanted = must('a whole number from 1')
  return z.int(wanted).positive(wanted)
}

function noFields(keys: readonly string[]): string {
  return keys.map((key) => `has no field "${key.slice(0, 40)}"${suggestion(key, runtimeParamNames)}`).join('; ')
}

/**
 * Merges layers of settings, lowest precedence first. Only defined fields override; `providerSpecific` is merged by its top-level
 * keys. Throws `LlmError` for a layer that does not match the schema.
 */
export function mergeRuntimeParams(...layers: readonly (RuntimeParams | undefined)[]): RuntimeParams {
  for (const [index, layer] of layers.entries()) if (layer !== undefined) checkRuntimeParams(layer, `layers[${index}]`)
  return mergedParams(...layers)
}

/** Like `mergeRuntimeParams`, for layers that are already checked. */
export function mergedParams(...layers: readonly (RuntimeParams | undefined)[]): RuntimeParams {
  const given = layers.filter((layer) => layer !== undefined)
  const merged = given.reduce<RuntimeParams>((below, layer) => ({ ...below, ...definedOnly(layer) }), {})
  if (!merged.providerSpecific) return merged
  const specific = given.flatMap(({ providerSpecific }) => safeEntries(providerSpecific))
  return { ...merged, providerSpecific: Object.fromEntries(specific) }
}

/** Throws `LlmError` for params that do not match the schema. */
export function checkRuntimeParams(params: RuntimeParams, place = 'runtimeParams'): void {
  check.checkObject(place, params)
  const { error } = runtimeParamsSchema.safeParse(params)
  if (!error) return
  const issues = error.issues.map(({ path, message }) => `${path.reduce<string>(pathText, place)} ${message}`)
  throw new LlmError('invalid-config', issues.join('; '))
}

function pathText(text: string, key: PropertyKey): string {
  return typeof key === 'number' ? `${text}[${key}]` : `${text}.${String(key)}`
}

type Settings = Pick<
  LanguageModelV4CallOptions,
  'temperature' | 'maxOutputTokens' | 'topP' | 'topK' | 'stopSequences' | 'reasoning' | 'seed'
>

/** Returns the settings that all providers share. Absent ones stay absent. */
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

/** Returns the entries of `providerSpecific` without keys that could reach a prototype. */
export function safeEntries(specific: RuntimeParams['providerSpecific']): [string, JSONValue][] {
  return Object.entries(specific ?? {}).filter(([key, value]) => value !== undefined && !unsafeKeys.includes(key))
}
