import type { Step } from '@bowline/llm/testing'
import type { Agent, AgentOptions } from '../../../src/index.ts'
import { agentOf } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'

/** A call that hands work to the agent of this name. */
export function handOver(id: string, name: string, input: object = { prompt: `do ${id}` }) {
  return { id, name: `delegate_to_${name}`, input: input as never }
}

export function plainCall(id: string, name: string) {
  return { id, name, input: {} }
}

/** An agent that others can hand work to. */
export function helper(name: string, steps: readonly Step[], options: Partial<AgentOptions> = {}): ReturnType<typeof agentOf> {
  return agentOf(steps, { name, description: `${name} helps`, ...options })
}

/** Hands work on once, and then says what it says. */
export function lead(child: Agent, options: Partial<AgentOptions> = {}, last: readonly Step[] = [{ text: 'done' }]) {
  return agentOf([{ toolCalls: [handOver('d', child.name ?? '')] }, ...last], { subagents: [child], ...options })
}

/** What the model was told of a call. */
export async function toldOf(talk: Conversation, toolCallId: string) {
  const { messages } = await talk.memory.load()
  const result = messages.find((message) => message.role === 'tool-result' && message.toolCallId === toolCallId)
  return result?.role === 'tool-result' ? result : undefined
}

/** Events of the conversation without those of the model call. */
export function outline(talk: Conversation): readonly string[] {
  return talk.journal.events.map(({ type }) => type)
}
