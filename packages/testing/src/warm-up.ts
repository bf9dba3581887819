import { defineAgent, defineTool } from '@bowline/agent-loop'
import { resolveSchema } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { loadWebhookRequests } from '@bowline/sessions/internal'

let warm: Promise<unknown> | undefined

/**
 * Loads the modules that the loop loads at first use. Loading takes real time, which an injected clock does not show, so the
 * first run of a process would take another path than later ones.
 */
export async function warmUp(): Promise<void> {
  warm ??= Promise.all([runOnce(), resolveSchema({ type: 'string', pattern: '^a' }), resolveSchema(anyObject), loadWebhookRequests()])
  await warm
}

function runOnce(): Promise<unknown> {
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object', properties: { ms: { type: 'number' } } },
    execute: () => 'seen',
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'look', input: { ms: 1 } }] }, { text: 'done' }])
  return defineAgent({ name: 'warm', model, tools: [look] })
    .run('go')
    .result()
}

/** A schema that is not plain JSON Schema, so that the AI SDK reads it. */
const anyObject = {
  '~standard': {
    version: 1,
    vendor: 'bowline',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
} as const
