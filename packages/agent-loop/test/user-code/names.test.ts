import { describe, expect, it } from 'vitest'
import { AgentError, defineAgent, defineExtension, defineGuardrail, defineTool } from '../../src/index.ts'
import type { AgentOptions } from '../../src/index.ts'
import { playPlugIns } from './play-plug-in.ts'

const model = () => Promise.resolve([{ role: 'assistant' as const, content: 'done' }])
const tool = (name: string, said: string) => defineTool({ name, description: said, inputSchema: {}, effect: 'pure', execute: () => said })
const blocks = (reason: string) => defineGuardrail({ name: 'same', beforeCall: () => ({ action: 'block', reason }) })

function refusalOf(options: Partial<AgentOptions>): string {
  try {
    defineAgent({ model, ...options })
  } catch (error) {
    if (AgentError.isInstance(error)) return `${error.code}: ${error.message}`
    throw error
  }
  return 'nothing is refused'
}

describe('A200: two plug-ins of one name', () => {
  it('are refused by name if they are extensions', () => {
    const same = defineExtension({ name: 'same', hooks: {} })
    expect(refusalOf({ extensions: [same, defineExtension({ name: 'same', hooks: {} })] })).toBe(
      'invalid-config: extensions has two extensions named "same"',
    )
    expect(refusalOf({ extensions: [same, same] })).toBe('invalid-config: extensions has two extensions named "same"')
  })

  it('are refused by name if they are tools of the agent', () => {
    expect(refusalOf({ tools: [tool('same', 'one'), tool('same', 'two')] })).toMatch(/^invalid-config: .*same/)
  })

  it('if they are guardrails, the first is used and diagnostics name the other', async () => {
    const guardrails = [blocks('the first'), blocks('the second')]
    const { diagnostics } = defineAgent({ model, guardrails })
    expect(diagnostics).toMatchObject([{ kind: 'guardrail', name: 'same', message: expect.stringContaining('is not used') as string }])
    const { events } = await playPlugIns([{ agent: { guardrails } }])
    const outputs = events.flatMap((event) => (event.type === 'tool-execution-end' ? [event.message.output] : []))
    expect(outputs).toEqual([{ type: 'execution-denied', reason: 'the first' }])
  })

  it('if one is a tool of the agent and one of an extension, the tool of the agent is used', () => {
    const { diagnostics } = defineAgent({
      model,
      tools: [tool('same', 'one')],
      extensions: [defineExtension({ name: 'more', tools: [tool('same', 'two')], hooks: {} })],
    })
    expect(diagnostics).toMatchObject([{ name: 'same' }])
  })
})
