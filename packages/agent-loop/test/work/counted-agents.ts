import type { AssistantMessage, AssistantPart, MessageEvent, MessageStream } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'
import { defineAgent, defineTool } from '../../src/index.ts'
import type { Agent, AgentModel, ModelFunction } from '../../src/index.ts'

/**
 * Returns an agent. Unless its comment says otherwise, its turn has `size` steps with one call of its tool each, and a last step
 * with a text.
 */
export type CountedAgent = (size: number) => Agent

/** Its model is a function that returns a stream. */
export const functionAgent: CountedAgent = (steps) => agentOf(steps, functionModel(steps))

/** It has one step: a text of `size` deltas. */
export const deltaAgent: CountedAgent = (deltas) => agentOf(1, () => textStream(deltas))

/** Its model is an AI SDK model. */
export const aiSdkAgent: CountedAgent = (steps) => {
  // The same agent runs more than once.
  const model = scriptedModel((_, call) => {
    const step = (call % (steps + 1)) + 1
    return step > steps ? { text: 'done' } : { toolCalls: [{ id: `call-${step}`, name: 'write', input: { text: `${step}` } }] }
  })
  return agentOf(steps, model)
}

function agentOf(steps: number, model: AgentModel): Agent {
  const write = defineTool({
    name: 'write',
    description: 'writes a text',
    inputSchema: z.object({ text: z.string() }),
    execute: () => 'written',
  })
  return defineAgent({ model, tools: [write], limits: { maxSteps: steps + 1, maxToolCalls: steps + 1 } })
}

function functionModel(steps: number): ModelFunction {
  return ({ step }) => (step > steps ? textStream() : callStream(step))
}

function textStream(deltas = 1): MessageStream {
  const text = 'done'.repeat(deltas)
  return streamOf({ type: 'text', text }, [
    { type: 'text-start', index: 0 },
    ...Array.from({ length: deltas }, () => ({ type: 'text-delta', index: 0, delta: 'done' }) as const),
    { type: 'text-end', index: 0, text },
  ])
}

function callStream(step: number): MessageStream {
  const [toolCallId, input] = [`call-${step}`, { text: `${step}` }]
  const toolCall = { type: 'tool-call', toolCallId, toolName: 'write', input } as const
  return streamOf(toolCall, [
    { type: 'tool-call-start', index: 0, toolCallId, toolName: 'write' },
    { type: 'tool-call-delta', index: 0, delta: JSON.stringify(input) },
    { type: 'tool-call-end', index: 0, toolCall },
  ])
}

/** Returns a stream of one part and its events, between the start and the end of its message. */
function streamOf(part: AssistantPart, events: readonly MessageEvent[]): MessageStream {
  const [messageId, provider, modelId] = ['message', 'own', 'own']
  const message: AssistantMessage = {
    role: 'assistant',
    id: messageId,
    content: [part],
    provider,
    modelId,
    usage: {},
    at: 0,
    timing: { totalMs: 0 },
    stopReason: part.type === 'tool-call' ? 'tool-calls' : 'stop',
  }
  const all: MessageEvent[] = [{ type: 'message-start', messageId, provider, modelId, at: 0 }, ...events, { type: 'message-end', message }]
  return { messageId, abort: () => undefined, result: () => Promise.resolve(message), [Symbol.asyncIterator]: () => iterate(all) }
}

/** Makes one promise per event: the fewest that a stream can have. */
function iterate(events: readonly MessageEvent[]): AsyncIterator<MessageEvent, undefined> {
  const left = events.values()
  return { next: () => Promise.resolve(left.next()) }
}
