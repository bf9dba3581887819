import type { Clock } from '@bowline/llm'
import { scriptedModel, type ScriptedModel, type ScriptedToolCall, type Step } from '@bowline/llm/testing'
import { planIn, textOfInput } from './plan-text.ts'
import type { Plan, PlannedCall, PlannedTool } from './program.ts'

/** State that the models of all processes of a program share. */
export interface ModelWorld {
  /** The prompt of each call, as text. */
  readonly prompts: string[]
  /** Names of the failures that have happened once. */
  readonly failed: Set<string>
  /** Number of the next call. */
  nextCall: number
}

interface PlanModelOptions {
  readonly world: ModelWorld
  readonly clock: Clock
  readonly delayMs: number
  /** Delay in ms before each delta. Default: a text comes in one piece. */
  readonly deltaMs?: number
  /** True: the first call of each plan exceeds the context window. */
  readonly overflows: boolean
  /** Name of the subagent to which it delegates. */
  readonly subagent: string | undefined
}

type Prompt = Parameters<Extract<Parameters<typeof scriptedModel>[0], (...args: never[]) => unknown>>[0]['prompt']

const providerIsBusy = Object.assign(new Error('The provider is busy'), { statusCode: 503, isRetryable: true })
const providerRefuses = Object.assign(new Error('The provider refuses'), { statusCode: 400, isRetryable: false })
const tooLong = Object.assign(new Error('The prompt is too long'), {
  statusCode: 400,
  data: { error: { code: 'context_length_exceeded' } },
})
const noWords: Step = { text: 'all is done', chunk: 6 }

/** Returns a model that follows the last plan in its prompt. Its position follows from the prompt, so that any process can continue. */
export function planModel({ world, clock, delayMs, deltaMs, overflows, subagent }: PlanModelOptions): ScriptedModel {
  return scriptedModel(
    ({ prompt, tools = [] }) => {
      world.prompts.push(JSON.stringify(prompt))
      const delay = { ...(delayMs > 0 && { delayMs }), ...(deltaMs !== undefined && { deltaDelayMs: deltaMs, chunk: 3 }) }
      // A request without tools is for a summary.
      if (tools.length === 0) return { text: 'a summary of what was said', ...delay }
      return { ...nextStep(world, prompt, overflows, subagent), ...delay }
    },
    { clock },
  )
}

function nextStep(world: ModelWorld, prompt: Prompt, overflows: boolean, subagent: string | undefined): Step {
  const { plan, place, after } = placeIn(prompt)
  if (overflows && isFirst(world, `too long ${after}`)) return { error: tooLong }
  const answer = plan[place]
  if (answer === undefined) return noWords
  if ('calls' in answer) return { toolCalls: answer.calls.map((call) => scripted(world, prompt, call, subagent)) }
  if (answer.fails === 'always') return { error: providerRefuses }
  return isFirst(world, `${place} ${after}`) ? { error: providerIsBusy } : noWords
}

/** Returns true at the first call with this name, in any process. */
function isFirst({ failed }: ModelWorld, what: string): boolean {
  const first = !failed.has(what)
  failed.add(what)
  return first
}

/** Returns the last plan, and the number of answers after it. */
function placeIn(prompt: Prompt): { readonly plan: Plan; readonly place: number; readonly after: string } {
  for (let index = prompt.length - 1; index >= 0; index--) {
    const message = prompt[index]
    if (message?.role !== 'user') continue
    const text = JSON.stringify(message.content)
    const plan = planIn(text)
    if (plan) return { plan, place: prompt.slice(index).filter(({ role }) => role === 'assistant').length, after: text }
  }
  return { plan: [], place: 0, after: '' }
}

const names: Readonly<Partial<Record<PlannedTool, string>>> = { output: 'background_output', cancel: 'background_cancel' }

function scripted(world: ModelWorld, prompt: Prompt, call: PlannedCall, subagent: string | undefined): ScriptedToolCall {
  const id = `call${++world.nextCall}`
  if ('delegate' in call) {
    const input = { prompt: textOfInput(id, call.delegate), ...(call.background && { run_in_background: true }) }
    return { id, name: `delegate_to_${subagent ?? 'nobody'}`, input }
  }
  const { tool, ms, throws } = call
  if (tool === 'output' || tool === 'cancel') return { id, name: names[tool] ?? tool, input: { task_id: taskIn(prompt) } }
  return { id, name: tool, input: { ...(ms !== undefined && { ms }), ...(throws && { throws }) } }
}

/** Returns the id of the newest task in the prompt. */
function taskIn(prompt: Prompt): string {
  return (
    JSON.stringify(prompt)
      .match(/bg_[0-9a-f]{32}/g)
      ?.at(-1) ?? 'bg_none'
  )
}
