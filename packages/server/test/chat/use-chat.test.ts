import { Chat } from '@ai-sdk/react'
import { defineAgent, defineTool, type Tool } from '@bowline/agent-loop'
import { createChatClient, type InferAgentUIMessage } from '@bowline/client/chat'
import {
  DefaultChatTransport,
  isToolUIPart,
  jsonSchema,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, remoteTool, stores, type Bench } from '../support/bench.ts'
import { openChat, textOf } from '../support/chat.ts'

const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ id: `call-${name}`, name, input: {} })) })

/** Same condition as in pages that run tools themselves and ask their users. */
const sendAutomaticallyWhen = ({ messages }: { messages: UIMessage[] }): boolean =>
  lastAssistantMessageIsCompleteWithToolCalls({ messages }) || lastAssistantMessageIsCompleteWithApprovalResponses({ messages })

function askingTool(name: string, execute?: () => string): Tool {
  const inputSchema = { type: 'object', properties: {}, additionalProperties: false } as const
  return defineTool({ name, description: 'Asks first.', inputSchema, needsApproval: true, ...(execute && { effect: 'once', execute }) })
}

const answers = (messages: readonly UIMessage[]) => messages.filter((message) => message.role === 'assistant')
const callPart = ({ messages }: { readonly messages: readonly UIMessage[] }, name: string) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (isToolUIPart(part) && part.type === `tool-${name}` ? part : [])))[0]
const dataOf = ({ messages }: { readonly messages: readonly UIMessage[] }, type: `data-${string}`) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === type && 'data' in part ? part.data : [])))

/** Opens a page that sends complete answers by itself. `finished` resolves after that number of streams. */
function openPage(it: Bench) {
  const sent: string[] = []
  const transport = new DefaultChatTransport({
    api: `${it.url}/api/chat`,
    fetch: (input, init) => {
      sent.push(init?.method ?? 'GET')
      return fetch(input, init)
    },
  })
  const streams = [gate(), gate(), gate()]
  let finishes = 0
  const chat = openChat(it, { transport, sendAutomaticallyWhen, onFinish: () => streams[finishes++]?.open() })
  return { chat, sent, finished: (count: number) => streams[count - 1]?.passed }
}

describe.each(stores)('a chat of the AI SDK over the $name store', ({ make }) => {
  it('V52: a completed turn ends ready', async () => {
    const it = await bench({ store: make(), steps: [{ reasoning: 'Hm.', text: 'Hello there.', chunk: 3 }] })
    const chat = openChat(it)
    await chat.sendMessage({ text: 'hi' })
    expect([chat.status, chat.error]).toEqual(['ready', undefined])
    expect(chat.messages.map(textOf)).toEqual(['hi', 'Hello there.'])
    expect(chat.lastMessage).toMatchObject({ metadata: { sessionId: 'mine', runId: chat.lastMessage?.id } })
    expect(dataOf(chat, 'data-usage')).toEqual([{ purpose: 'turn', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } }])
    expect(it.faults).toEqual([])
  })

  it('A189: a page reads calls by the types of the tools of the agent', async () => {
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      inputSchema: jsonSchema<{ at: string }>({ type: 'object' }),
      effect: 'pure',
      execute: ({ at }) => ({ seen: `a knot at ${at}` }),
    })
    const agent = defineAgent({ model: 'test:model', tools: [look] })
    const toolCalls = [{ id: 'call-look', name: 'look', input: { at: 'sea' } }]
    const it = await bench({ store: make(), steps: [{ toolCalls }, { text: 'Seen.' }], tools: [look] })
    const { transport, load } = createChatClient<InferAgentUIMessage<typeof agent>>({ baseUrl: it.url })
    const chat = new Chat({ id: 'mine', transport })
    await chat.sendMessage({ text: 'look!' })
    const { messages } = await load('mine')
    for (const { parts } of [chat.lastMessage, messages[1]].filter((message) => message !== undefined)) {
      const call = parts.find((part) => part.type === 'tool-look')
      expect(call?.input?.at).toBe('sea')
      expect(call?.state === 'output-available' && call.output.seen).toBe('a knot at sea')
    }
  })

  it('V52: tools of the server are parts of the same message, and are not sent back', async () => {
    const it = await bench({ store: make(), steps: [calls('look'), { text: 'Seen.' }], tools: [localTool('look', () => 'a knot')] })
    const { chat, sent } = openPage(it)
    await chat.sendMessage({ text: 'look!' })
    expect([chat.status, sent.length]).toEqual(['ready', 1])
    expect(answers(chat.messages)).toHaveLength(1)
    expect(callPart(chat, 'look')).toMatchObject({ state: 'output-available', input: {}, output: 'a knot' })
  })

  it('V52: a turn that ends with its tools is not sent back again and again', async () => {
    const inputSchema = { type: 'object', properties: {} } as const
    const last = defineTool({
      name: 'last',
      description: 'Ends.',
      inputSchema,
      effect: 'pure',
      execute: () => ({ output: 'done', terminate: true }),
    })
    const it = await bench({ store: make(), steps: [calls('last')], tools: [last] })
    const { chat, sent } = openPage(it)
    await chat.sendMessage({ text: 'last!' })
    expect([chat.status, sent.length]).toEqual(['ready', 1])
    expect(callPart(chat, 'last')).toMatchObject({ state: 'output-available', output: 'done' })
  })

  it('V45: a tool of the page is answered with addToolOutput, and the same message continues', async () => {
    const steps = [calls('place', 'time'), { text: 'In Oslo at noon.' }]
    const it = await bench({ store: make(), steps, tools: [remoteTool('place'), remoteTool('time')] })
    const { chat, sent, finished } = openPage(it)
    await chat.sendMessage({ text: 'where?' })
    expect([chat.status, callPart(chat, 'place')?.state]).toEqual(['ready', 'input-available'])
    await chat.addToolOutput({ tool: 'place', toolCallId: 'call-place', output: { city: 'Oslo' } })
    await chat.addToolOutput({ tool: 'time', toolCallId: 'call-time', state: 'output-error', errorText: 'no clock' })
    await finished(2)
    expect([chat.status, textOf(chat.lastMessage ?? expect.fail())]).toEqual(['ready', 'In Oslo at noon.'])
    expect(answers(chat.messages)).toHaveLength(1)
    expect(callPart(chat, 'place')).toMatchObject({ state: 'output-available', output: { city: 'Oslo' } })
    expect(callPart(chat, 'time')).toMatchObject({ state: 'output-error', errorText: 'no clock' })
    expect(sent.length).toBe(2)
    expect(it.faults).toEqual([])
  })

  it.each([true, false])('V45: a question is answered with addToolApprovalResponse (approved: %s)', async (approved) => {
    let ran = 0
    const erase = askingTool('erase', () => {
      ran++
      return 'erased'
    })
    const it = await bench({ store: make(), steps: [calls('erase'), { text: 'So be it.' }], tools: [erase] })
    const { chat, sent, finished } = openPage(it)
    await chat.sendMessage({ text: 'erase!' })
    const asked = callPart(chat, 'erase')
    expect([chat.status, asked?.state]).toEqual(['ready', 'approval-requested'])
    await chat.addToolApprovalResponse({ id: asked?.approval?.id ?? '', approved, reason: 'as I say' })
    await finished(2)
    expect([chat.status, textOf(chat.lastMessage ?? expect.fail())]).toEqual(['ready', 'So be it.'])
    expect([ran, sent.length, answers(chat.messages).length]).toEqual([approved ? 1 : 0, 2, 1])
    expect(callPart(chat, 'erase')).toMatchObject({
      ...(approved ? { state: 'output-available', output: 'erased' } : { state: 'output-denied' }),
      approval: { approved, reason: 'as I say' },
    })
  })

  it('V45: an approved tool of the page is offered again, and answered after that', async () => {
    const it = await bench({ store: make(), steps: [calls('send'), { text: 'Sent.' }], tools: [askingTool('send')] })
    const { chat, sent, finished } = openPage(it)
    await chat.sendMessage({ text: 'send!' })
    await chat.addToolApprovalResponse({ id: callPart(chat, 'send')?.approval?.id ?? '', approved: true })
    await finished(2)
    expect([chat.status, callPart(chat, 'send')?.state]).toEqual(['ready', 'input-available'])
    await chat.addToolOutput({ tool: 'send', toolCallId: 'call-send', output: 'ok' })
    await finished(3)
    expect([sent.length, textOf(chat.lastMessage ?? expect.fail())]).toEqual([3, 'Sent.'])
  })

  it('V52: a failed turn ends in error, with a text for people and the details beside it', async () => {
    const failure = Object.assign(new Error('the key is revoked'), { statusCode: 401, responseBody: '', isRetryable: false })
    const it = await bench({ store: make(), steps: [{ error: failure }, { text: 'Better.' }] })
    const chat = openChat(it)
    await chat.sendMessage({ text: 'hi' })
    expect([chat.status, chat.error?.message]).toEqual(['error', 'The answer could not be finished.'])
    expect(dataOf(chat, 'data-error')).toMatchObject([{ status: 'error', reason: 'model-error', error: { kind: 'auth' } }])
    await chat.regenerate()
    expect([chat.status, textOf(chat.lastMessage ?? expect.fail())]).toEqual(['ready', 'Better.'])
    expect(chat.messages).toHaveLength(2)
  })

  it('V51: stop of the page ends only its reading, and resumeStream reads on', async () => {
    const hold = gate()
    const it = await bench({ store: make(), steps: () => hold.passed.then(() => ({ text: 'All of it.' })) })
    const chat = openChat(it)
    const sending = chat.sendMessage({ text: 'hi' })
    await expect.poll(() => chat.lastMessage?.role).toBe('assistant')
    await chat.stop()
    await sending
    expect([chat.status, textOf(chat.lastMessage ?? expect.fail())]).toEqual(['ready', ''])
    expect((await it.runtime.session('tenant:local:s:mine').info())?.openRun).toMatchObject({ status: 'running', stopping: false })
    const resuming = chat.resumeStream()
    await expect.poll(() => chat.status).toBe('submitted')
    hold.open()
    await resuming
    expect([chat.status, textOf(chat.lastMessage ?? expect.fail())]).toEqual(['ready', 'All of it.'])
    expect(chat.messages).toHaveLength(2)
  })

  it('V51: the stop route ends the run; the turn ends ready and contains data-stopped', async () => {
    const it = await bench({ store: make(), steps: [{ text: 'Half of it.', hang: 'middle' }] })
    const { chat, sent } = openPage(it)
    const sending = chat.sendMessage({ text: 'hi' })
    await expect.poll(() => chat.status).toBe('streaming')
    const stopped = await it.post('/api/chat/mine/stop', {})
    expect([stopped.status, await stopped.json()]).toMatchObject([200, { state: 'settled', status: 'stopped' }])
    await sending
    expect([chat.status, chat.error]).toEqual(['ready', undefined])
    expect(dataOf(chat, 'data-stopped')).toEqual([{ runId: chat.lastMessage?.id, calls: [] }])
    expect(sent).toHaveLength(1)
  })

  it('V51: calls that a stop has ended are not sent back', async () => {
    const started = gate()
    const never = localTool('never', () => {
      started.open()
      return new Promise(() => undefined)
    })
    const it = await bench({ store: make(), steps: [calls('never')], tools: [never] })
    const { chat, sent } = openPage(it)
    const sending = chat.sendMessage({ text: 'hi' })
    await started.passed
    await it.post('/api/chat/mine/stop', {})
    await sending
    expect([chat.status, sent.length, callPart(chat, 'never')?.state]).toEqual(['ready', 1, 'output-error'])
    expect(dataOf(chat, 'data-stopped')).toMatchObject([{ calls: [{ toolCallId: 'call-never' }] }])
  })
})

it('V52: a page that sends while a turn is in progress gets an error, and the turn goes on', async () => {
  const hold = gate()
  const it = await bench({ steps: () => hold.passed.then(() => ({ text: 'One.' })) })
  const first = openChat(it)
  const sending = first.sendMessage({ text: 'one' })
  await expect.poll(() => first.lastMessage?.role).toBe('assistant')
  const second = openChat(it)
  await second.sendMessage({ text: 'two' })
  expect([second.status, second.error?.message]).toEqual([
    'error',
    'The assistant is still answering. Wait for it, or stop it, and send again.',
  ])
  hold.open()
  await sending
  expect([first.status, textOf(first.lastMessage ?? expect.fail())]).toEqual(['ready', 'One.'])
})
