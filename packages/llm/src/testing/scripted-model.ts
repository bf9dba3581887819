import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamResult } from '@ai-sdk/provider'
import { needed } from '../arguments.ts'
import { check, checkClock, checkItems, fieldsOf } from '../check.ts'
import { systemClock, type Clock } from '../clock.ts'
import { collect } from './collect.ts'
import { play } from './play.ts'
import { scriptOf } from './script.ts'
import { checkedStep, type Step } from './step.ts'

/** A model that answers from a script. A call without a step rejects. `assertDone` throws if steps are left. */
export interface ScriptedModel extends LanguageModelV4 {
  /** Options of each call so far, as deep copies. */
  readonly calls: readonly LanguageModelV4CallOptions[]
  /** Throws if steps are left. `using` calls it at the end of the block. */
  assertDone(): void
  [Symbol.dispose](): void
}

/**
 * Answers of a scripted model: one step per call, in order, or a function that returns the step for a call. `index` counts calls
 * from 0.
 */
export type Script = readonly Step[] | ((call: LanguageModelV4CallOptions, index: number) => Step | Promise<Step>)

/** Names of a scripted model, and the clock of its delays. */
export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly provider?: string
  /** Default `scripted-model`. */
  readonly modelId?: string
  /** Clock of all delays in the script. Default: the system clock. */
  readonly clock?: Clock
}

/**
 * Creates a model that answers from a script and works wherever a `LanguageModelV4` does. Throws `LlmError` for an invalid step or
 * option. A call without a step rejects.
 */
export function scriptedModel(steps: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  checkScript(steps, options)
  const { provider = 'scripted', modelId = 'scripted-model', clock = systemClock } = options
  const calls: LanguageModelV4CallOptions[] = []

  const doStream = async (call: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> => {
    check.checkObject('options', needed(call))
    const index = calls.push(copyOf(call) as LanguageModelV4CallOptions) - 1
    const step = typeof steps === 'function' ? checkedStep(`the step of call ${index + 1}`, await steps(call, index)) : steps[index]
    if (!step) throw new Error(`call ${index + 1} is not in the script; the last user text is ${JSON.stringify(lastUserText(call))}`)
    step.expect?.(call)
    if (isRefused(step)) throw step.error
    const signal = step.ignoreAbort ? undefined : call.abortSignal
    signal?.throwIfAborted()
    if (step.hang === 'before') await hang(signal)
    return { stream: play(scriptOf(step, index, modelId), clock, signal) }
  }

  const assertDone = (): void => {
    const left = typeof steps === 'function' ? [] : steps.slice(calls.length)
    if (left.length === 0) return
    const names = left.map((step, place) => `step ${calls.length + place + 1} (${nameOf(step)})`)
    throw new Error(`${left.length} scripted ${left.length === 1 ? 'step was' : 'steps were'} not used: ${names.join(', ')}`)
  }

  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    calls,
    doStream,
    doGenerate: async (call) => collect((await doStream(call)).stream),
    assertDone,
    [Symbol.dispose]: assertDone,
  }
}

function isRefused({ error }: Step): boolean {
  return error !== undefined
}

function checkScript(steps: unknown, options: unknown): void {
  if (typeof steps !== 'function') {
    check.checkRequired('steps', steps, 'a list of steps or a function', Array.isArray)
    checkItems('steps', steps, checkedStep)
  }
  const { provider, modelId, clock } = fieldsOf('scriptedModel.options', options, ['provider', 'modelId', 'clock'])
  check.checkText('provider', provider)
  check.checkText('modelId', modelId)
  checkClock('clock', clock)
}

function hang(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

/** Keeps signals and URLs; copies everything else, so that later changes by the caller are not visible. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof AbortSignal || value instanceof URL) return value
  if (value instanceof Uint8Array) return value.slice()
  if (Array.isArray(value)) return value.map(copyOf)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)]))
}

function lastUserText({ prompt }: LanguageModelV4CallOptions): string {
  const last = prompt.findLast((message) => message.role === 'user')
  return last?.role === 'user' ? last.content.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('') : ''
}

function nameOf(step: Step): string {
  if (step.text !== undefined) return `text ${JSON.stringify(step.text.slice(0, 40))}`
  if (step.toolCalls) return `tool calls ${step.toolCalls.map((call) => call.name).join(', ')}`
  return Object.keys(step).join(', ') || 'empty'
}
