import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime, verifyWebhook } from '@bowline/sessions'

const secret = 'at least sixteen characters'
const receiver = createServer().listen(0, '127.0.0.1')
await once(receiver, 'listening')
const { port } = receiver.address() as { port: number }

const runtime = createRuntime({
  agents: [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Hello.' }]) })],
  notify: { url: `http://127.0.0.1:${port}/hook`, events: ['settled', 'awaiting-answer'], secret },
  webhooks: { http: true, allow: ['127.0.0.1'] }, // for this example: the default is https and public addresses
})
await runtime.session('room:1').send('Hi')

const [request, response] = (await once(receiver, 'request')) as [IncomingMessage, { writeHead(status: number): { end(): void } }]
const body = await text(request)
const { type, session, status } = JSON.parse(body) as Record<string, string>
console.log(type, session, status, verifyWebhook(request.headers, body, secret)) // → settled room:1 completed true
response.writeHead(204).end()
await runtime.stop()
receiver.close()

export {}
