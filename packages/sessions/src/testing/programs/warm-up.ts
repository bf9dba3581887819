import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'

let warm: Promise<unknown> | undefined

/** Has the loop load what it loads at its first call: that takes time of which the clock of a program knows nothing. */
export async function warmUp(): Promise<void> {
  const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: { ms: { type: 'number' } } }, execute: () => 'seen' })
  const model = scriptedModel([{ toolCalls: [{ name: 'look', input: { ms: 1 } }] }, { text: 'done' }])
  warm ??= defineAgent({ name: 'warm', model, tools: [look] }).run('go').result()
  await warm
}
