import type { Step } from '@bowline/llm/testing'
import type { Agent, AgentOptions } from '../../../src/index.ts'
import { agentOf } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'

/** Returns a call that delegates to the agent of this name. */
export function handOver(id: string, name: string, input: object = { prompt: `do ${id}` }) {
  return { id, name: `delegate_to_${name}`, input: input as never }
}

export function plainCall(id: string, name: string) {
  return { id, name, input: {} }
}

/** Creates an agent that others can delegate to. */
export function helper(name: string, steps: readonly Step[], options: Partial<AgentOptions> = {}): ReturnType<typeof agentOf> {
  return agentOf(steps, { name, description: `${name} helps`, ...options })
}

/** Creates an agent that delegates once, and then gives the `last` answers. */
export function lead(child: Agent, options: Partial<AgentOptions> = {}, last: readonly Step[] = [{ text: 'done' }]) {
  return agentOf([{ toolCalls: [handOver('d', child.name ?? '')] }, ...last], { subagents: [child], ...options })
}

/** Returns the result of a call, as the model gets it. */
export async function toldOf(talk: Conversation, toolCallId: string) {
  const { messages } = await talk.memory.load()
  const result = messages.find((message) => message.role === 'tool-result' && message.toolCallId === toolCallId)
  return result?.role === 'tool-result' ? result : undefined
}

/** Returns the types of the stored events of the conversation. */
export function outline(talk: Conversation): readonly string[] {
  return talk.journal.events.map(({ type }) => type)
}
