import { Chat } from '@ai-sdk/react'
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
const { messages } = await chats.load('knots') // what was said before
const chat = new Chat({ id: 'knots', messages, transport: chats.transport }) // in a page: useChat({ …, resume: true })
await chat.sendMessage({ text: 'Hi' })
console.log(chat.status, chat.messages.length) // → ready 2
await running.close()

export {}
