import { manualClock, scriptedModel } from '@bowline/llm/testing'
import type { JSONValue } from '@bowline/llm'
import { createMemoryJournal, defineAgent, defineTool } from '../../src/index.ts'
import type { AgentEvent, AgentInput } from '../../src/index.ts'
import { fakeIds } from '@bowline/testing'

/** Resumes a conversation that waits, in whatever process this is: everything that it depends on is made here. */
export async function goOn(snapshot: JSONValue, input: AgentInput | undefined): Promise<readonly AgentEvent[]> {
  const ids = fakeIds()
  const events: AgentEvent[] = []
  const run = waitingAgent().run(input, {
    journal: createMemoryJournal({ snapshot }),
    clock: manualClock(5_000),
    random: () => 0.5,
    ids: { next: (kind) => ids.next(`later_${kind}`) },
  })
  for await (const event of run) events.push(event)
  return events
}

/** Creates an agent that asks for one call of each kind and then is done. */
export function waitingAgent() {
  const schema = { type: 'object' } as const
  const made = (name: string, more: object = {}) => defineTool({ name, description: '', inputSchema: schema, ...more })
  return defineAgent({
    model: scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'assistant')
        ? { text: 'done' }
        : { toolCalls: [call('r', 'far'), call('x', 'guarded'), call('n', 'near')] },
    ),
    tools: [made('far'), made('guarded', { needsApproval: true, execute: () => 'ran' }), made('near', { execute: () => 'ran' })],
    retry: false,
  })
}

function call(id: string, name: string) {
  return { id, name, input: { for: id } }
}
