import { defineAgent, defineTool, type AgentOptions, type ToolEffect } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { scriptedModel, type Script } from '@bowline/llm/testing'
import { inputSchema } from '../crash-kit/scenario-parts.ts'
import type { World } from '../crash-kit/types.ts'

/** Calls that an input can ask for: tools of each effect, an approval, a client tool with a deadline, and subagents. */
export const planWords = ['look', 'index', 'pay', 'sign', 'place', 'help', 'launch'] as const
export type PlanWord = (typeof planWords)[number]

export interface CastOptions {
  readonly world: World
  /** Clock of the process. */
  readonly clock: Clock
  /** Returns the duration in the time of the program. */
  readonly lasting: (ms: number) => number
}

/** Agents that do what their input says, in any process: the next message of the model follows from the prompt alone. */
export function castOf({ world, clock, lasting }: CastOptions): readonly AgentOptions[] {
  const tool = (name: PlanWord, effect: ToolEffect, takesMs: number, options: { readonly needsApproval?: true } = {}) =>
    defineTool({
      name,
      effect,
      inputSchema,
      description: `Does ${name}.`,
      ...options,
      async execute(_input, call) {
        await world.effect(call)
        await world.sleep(lasting(takesMs))
        return `${name} is done`
      },
    })
  const tools = [tool('look', 'pure', 300), tool('index', 'idempotent', 700), tool('pay', 'once', 2_000)]
  const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema, timeoutMs: lasting(6_000) })
  const model = scriptedModel(answerTo(lasting(200)), { clock })
  const helper = defineAgent({ name: 'helper', description: 'Helps.', model, tools, onUnknownOutcome: 'tell-model' })
  return [{ name: 'assistant', model, tools: [...tools, tool('sign', 'once', 500, { needsApproval: true }), place], subagents: [helper] }]
}

/** An input such as `do input-1: look pay+index` asks for one message per word, with the calls that it names. */
export function textOf(name: string, plan: string): string {
  return `do ${name}: ${plan}`
}

function answerTo(delayMs: number): Extract<Script, (...args: never[]) => unknown> {
  return ({ prompt }) => {
    const last = prompt.findLastIndex(({ role }) => role === 'user')
    const text = (prompt[last]?.content as readonly { readonly text?: string }[] | undefined)?.[0]?.text ?? ''
    const [, input = '', plan = ''] = /^do (.+): (.*)$/.exec(text) ?? []
    const names = plan.split(' ')[prompt.slice(last).filter(({ role }) => role === 'assistant').length]
    if (!names) return { delayMs, text: 'all is done' }
    return {
      delayMs,
      toolCalls: names.split('+').map((name, place) => ({ id: `${input}-${prompt.length}-${place}`, ...callOf(name as PlanWord) })),
    }
  }
}

function callOf(name: PlanWord): { readonly name: string; readonly input: Readonly<Record<string, string | boolean>> } {
  if (name !== 'help' && name !== 'launch') return { name, input: {} }
  return { name: 'delegate_to_helper', input: { prompt: textOf('help', 'look pay'), run_in_background: name === 'launch' } }
}
