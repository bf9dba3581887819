import type { Agent, ModelFunction } from '@bowline/agent-loop'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import type { ChatInit, InferUITools, ToolSet, UIMessage } from 'ai'
import { tool } from 'ai'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createChatClient } from '../src/chat.ts'
import type { ChatClient, ChatMetadata, InferAgentUIMessage } from '../src/chat.ts'

const inputSchema = z.object({ city: z.string() })
const weather = defineTool({ name: 'weather', description: 'x', inputSchema, execute: () => ({ sky: 'clear' }) })
const sdkTools = { clock: tool({ inputSchema, execute: async () => 12 }) } satisfies ToolSet
const model: ModelFunction = () => {
  throw new Error('No turn runs here.')
}
const agent = defineAgent({ model, tools: { weather, ...sdkTools } })

type Message = InferAgentUIMessage<typeof agent>

describe('messages of a chat', () => {
  it('A189: fit useChat, typed by the tools of the agent', () => {
    expectTypeOf<Message>().toExtend<UIMessage>()
    expectTypeOf<Message['metadata']>().toEqualTypeOf<ChatMetadata | undefined>()
    const client = createChatClient<Message>({ baseUrl: 'http://localhost' })
    expectTypeOf(client).toEqualTypeOf<ChatClient<Message>>()
    expectTypeOf(client.transport).toExtend<NonNullable<ChatInit<Message>['transport']>>()
    expectTypeOf<Awaited<ReturnType<typeof client.load>>['messages']>().toExtend<NonNullable<ChatInit<Message>['messages']>>()
    const read = (part: Message['parts'][number]) => {
      if (part.type === 'tool-weather' && part.state === 'output-available') {
        expectTypeOf(part.input).toEqualTypeOf<{ city: string }>()
        expectTypeOf(part.output).toEqualTypeOf<{ sky: string }>()
      }
      // @ts-expect-error the agent has no such tool
      return part.type === 'tool-weaher'
    }
    expectTypeOf(read).toBeFunction()
  })

  it('A189: tools of the AI SDK have the types that InferUITools gives them', () => {
    type Part = Extract<Message['parts'][number], { type: 'tool-clock'; state: 'output-available' }>
    type Expected = InferUITools<typeof sdkTools>['clock']
    expectTypeOf<Part['input']>().toEqualTypeOf<Expected['input']>()
    expectTypeOf<Part['output']>().toEqualTypeOf<Expected['output']>()
  })

  it('A189: without known tools every call may be any tool', () => {
    type Part = Extract<InferAgentUIMessage<Agent>['parts'][number], { type: `tool-${string}` }>
    expectTypeOf<'tool-anything'>().toExtend<Part['type']>()
  })
})
