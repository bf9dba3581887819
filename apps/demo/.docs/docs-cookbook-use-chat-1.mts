import { defineAgent } from '@bowline/agent-loop'
import { createChatClient } from '@bowline/client/chat'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'

const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Hello.' }]) })] })
await runtime.start()
const running = await serve(createServer({ runtime, auth: 'none' }), { port: 0 })
const chats = createChatClient({ baseUrl: running.url })
const message = { id: 'm1', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hi' }] }
const sent = { trigger: 'submit-message' as const, chatId: 'knots', messageId: undefined, messages: [message], abortSignal: undefined }
for await (const part of await chats.transport.sendMessages(sent)) if (part.type === 'text-delta') console.log(part.delta) // → Hello.
console.log((await chats.load('knots')).messages.map(({ role }) => role)) // → [ 'user', 'assistant' ]
await running.close()

export {}
