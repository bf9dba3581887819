import { Chat } from '@ai-sdk/react'
import { createClient } from '@bowline/client'
import { createChatClient } from '@bowline/client/chat'
import { expect, it, vi } from 'vitest'
import { start } from './start.ts'

const url = /http:\/\/127\.0\.0\.1:\d+/

it('hono-server: admits logged-in users, and shows no user the sessions of another', async () => {
  const baseUrl = await start('hono-server/main.ts', { env: { PORT: '0' } }).printed(url)
  expect(await (await fetch(baseUrl)).text()).toBe('This page is open to everyone.')
  expect((await fetch(`${baseUrl}/api/agents`)).status).toBe(401)
  expect((await fetch(`${baseUrl}/api/agents`, { headers: { authorization: 'Bearer made.up.token' } })).status).toBe(401)

  const login = (name: string, password: string) =>
    fetch(`${baseUrl}/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name, password }) })
  expect((await login('ada', 'wrong')).status).toBe(401)
  expect((await login('constructor', 'wrong')).status).toBe(401)
  const clientOf = async (name: string, password: string) => {
    const { token } = (await (await login(name, password)).json()) as { token: string }
    return createClient({ baseUrl, token })
  }

  const ada = (await clientOf('ada', 'bowline')).session('knots')
  expect(await ada.send('Hi').result()).toMatchObject({ status: 'completed', text: 'Hello from the server.' })
  const bob = (await clientOf('bob', 'reef')).session('knots')
  await expect(bob.state()).rejects.toMatchObject({ status: 404 })
})

it('nextjs-chat: a reloaded page resumes the answer, and Stop ends it', async () => {
  const baseUrl = await start('test/fixtures/next-server.ts').printed(url)
  const chats = createChatClient({ baseUrl })
  const open = async () => new Chat({ id: 'ships', messages: (await chats.load('ships')).messages, transport: chats.transport })
  const textOf = (chat: Awaited<ReturnType<typeof open>>) =>
    chat.lastMessage?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''

  const first = await open()
  void first.sendMessage({ text: 'Tell me a story.' })
  await vi.waitFor(() => expect(textOf(first)).toContain('A ship lay'), { timeout: 20_000 })
  await first.stop() // leaves the page: the answer continues

  const second = await open()
  expect(second.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  const reading = second.resumeStream()
  const before = textOf(second).length
  await vi.waitFor(() => expect(textOf(second).length).toBeGreaterThan(before), { timeout: 20_000 })
  await chats.stop('ships')
  await reading
  expect(second.status).toBe('ready')
  expect(second.lastMessage?.parts.map(({ type }) => type)).toContain('data-stopped')
  expect(textOf(second).length).toBeLessThan('A ship lay in the harbour. '.length * 200)

  // The next message is accepted at once.
  void second.sendMessage({ text: 'Another one.' })
  await vi.waitFor(() => expect(second.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']), {
    timeout: 20_000,
  })
  await vi.waitFor(() => expect(textOf(second)).toContain('A ship lay'), { timeout: 20_000 })
  await chats.stop('ships')
})
