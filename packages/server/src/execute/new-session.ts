import type { Agent } from '@bowline/agent-loop'
import type { MessageInput, SessionContext } from '@bowline/client'
import type { AssistantMessage, Message } from '@bowline/llm'
import type { SessionOptions } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { checkParts } from './check-parts.ts'
import { broughtTools, checkSchemas, withInputSchema } from './client-tools.ts'
import { contentOf } from './user-message.ts'

/** Returns the settings of a new session that the agent accepts from a client. */
export async function newSession(
  services: Services,
  agent: Agent,
  { messages = [], tools = [], metadata }: SessionContext,
): Promise<SessionOptions> {
  const { name = '' } = agent
  const { clientTools = 'declared', clientHistory = false } = services.agents[name] ?? {}
  if (messages.length > 0 && !clientHistory) {
    throw new ProblemError('option-not-allowed', 'The agent takes no earlier messages from a client.')
  }
  const remoteTools = broughtTools(agent, tools.map(withInputSchema), clientTools)
  await checkSchemas(tools, remoteTools)
  const at = services.clock.now()
  return {
    agent: name,
    ...(metadata && { metadata }),
    ...(remoteTools.length > 0 && { remoteTools }),
    ...(messages.length > 0 && { history: messages.flatMap((message) => storable(message, services.ids.next('msg'), at)) }),
  }
}

/**
 * Keeps only the text of an answer that was given elsewhere. A client is not trusted with results of tools and approvals of calls.
 * An answer without text is dropped.
 */
function storable(message: MessageInput, id: string, at: number): Message | readonly [] {
  if (message.role === 'tool-result') return []
  if (message.role === 'user') {
    const content = contentOf(message.content)
    if (typeof content !== 'string') checkParts(content)
    return { role: 'user', id, content, at }
  }
  const { content } = message
  const text = typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return text.trim() === '' ? [] : { ...answeredElsewhere, id, at, content: [{ type: 'text', text }] }
}

const answeredElsewhere: Omit<AssistantMessage, 'id' | 'at' | 'content'> = {
  role: 'assistant',
  provider: 'client',
  modelId: 'unknown',
  stopReason: 'stop',
  usage: {},
  timing: { totalMs: 0 },
}

/** Returns the agent of that name, or the default agent. */
export function agentOf({ runtime, defaultAgent }: Services, name: string | undefined): Agent {
  const wanted = name ?? defaultAgent
  const agent = wanted === undefined ? runtime.agents[0] : runtime.agents.find((each) => each.name === wanted)
  if (!agent) throw new ProblemError('unknown-agent', 'There is no agent with this name: see GET /api/agents.')
  return agent
}
