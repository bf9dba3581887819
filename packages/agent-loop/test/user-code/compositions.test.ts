import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { defineExtension, defineGuardrail, defineTool } from '../../src/index.ts'
import type { Extension, Hooks } from '../../src/index.ts'
import { playPlugIns } from './play-plug-in.ts'
import type { PlugIn } from './play-plug-in.ts'

const tool = { name: 'tool', description: 'does it', inputSchema: {}, effect: 'idempotent', execute: () => 'did it' } as const

const hooks: readonly (keyof Hooks)[] = [
  ...([
    'onInput',
    'beforeAgentStart',
    'onTurnStart',
    'transformContext',
    'onStepStart',
    'onStepEnd',
    'beforeModelCall',
    'onModelRequest',
    'afterModelCall',
  ] as const),
  ...(['onToolCall', 'onToolResult', 'onToolSettled', 'onAgentEnd', 'onSavePoint', 'onSettled', 'onEvent'] as const),
]

function extensionOf(name: string, hook: keyof Hooks): Extension {
  return defineExtension({ name, hooks: { [hook]: () => undefined } })
}

/** Plug-ins that observe and change nothing, each with its own name. */
const plugIns: Readonly<Record<string, (place: string) => PlugIn>> = {
  ...Object.fromEntries(
    hooks.map((hook) => [hook, (place: string): PlugIn => ({ agent: { extensions: [extensionOf(`${hook} ${place}`, hook)] } })]),
  ),
  ...Object.fromEntries(
    (['onTurnStart', 'onTurnEnd', 'beforeCall', 'afterCall'] as const).map((handler) => [
      `guardrail ${handler}`,
      (place: string): PlugIn => ({
        agent: { guardrails: [defineGuardrail({ name: `${handler} ${place}`, [handler]: () => undefined })] },
      }),
    ]),
  ),
  stopWhen: () => ({ agent: { stopWhen: () => false } }),
  prepareStep: () => ({ agent: { prepareStep: () => undefined } }),
  ephemeral: () => ({ agent: { ephemeral: () => [{ role: 'user', content: 'it is late' }] } }),
  instructions: () => ({ agent: { instructions: () => 'be brief' } }),
  needsApproval: () => ({ agent: { tools: [defineTool({ ...tool, needsApproval: () => false })] } }),
  compaction: () => ({ agent: { compaction: { name: 'keeps', compact: () => Promise.resolve(undefined) } } }),
}

const steps: readonly Step[] = [{ toolCalls: [{ id: 'c', name: 'tool', input: {} }] }, { text: 'done' }]

/** Returns the number of commits of a turn with one step with a tool, and a last answer. */
async function commitsOf(...names: readonly string[]): Promise<number> {
  const made = names.map((name, place) => plugIns[name]?.(place === 0 ? 'first' : 'second') ?? {})
  const { commits, result, faults } = await playPlugIns(made, steps)
  expect({ status: result.status, faults }).toEqual({ status: 'completed', faults: [] })
  return commits
}

describe('two plug-ins', () => {
  it('A200: cost at most the commits that each adds alone', async () => {
    const plain = await commitsOf()
    const added = new Map<string, number>()
    const names = Object.keys(plugIns)
    for (const name of names) added.set(name, (await commitsOf(name)) - plain)
    const dear: string[] = []
    for (const [place, first] of names.entries()) {
      for (const second of names.slice(place)) {
        const both = (await commitsOf(first, second)) - plain
        const sum = (added.get(first) ?? 0) + (added.get(second) ?? 0)
        if (both > sum) dear.push(`${first} adds ${added.get(first)}, ${second} adds ${added.get(second)}, and both add ${both}`)
      }
    }
    expect(dear).toEqual([])
  })
})
