import type { ChatHistory } from '@bowline/client/chat'
import { convertToModelMessages, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { bench, gate, say, stores, type Bench, type BenchOptions } from '../support/bench.ts'
import { allUiFrames, chatBody, chunksOf, messageOf, openChat, postChat, textOf, userMessage } from '../support/chat.ts'

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const lines = (messages: readonly UIMessage[]) =>
  messages.map(
    ({ id, role, parts }) =>
      `${role}: ${textOf({ id, role, parts })}${parts.some(({ type }) => type === 'data-withdrawn') ? '(withdrawn)' : ''}`,
  )
const stop = async ({ post }: Bench) => (await post('/api/chat/mine/stop', {})).json()
const promptsOf = ({ model }: Bench) => JSON.stringify(model.calls.map(({ prompt }) => prompt))

async function load({ get }: Bench, id = 'mine'): Promise<ChatHistory> {
  const history = (await (await get(`/api/chat/${id}`)).json()) as ChatHistory
  await convertToModelMessages(history.messages)
  return history
}

/** Creates a server whose only run slot is taken by another conversation until `free`. */
async function fullServer(options: BenchOptions) {
  const hold = gate()
  const it = await bench({
    ...options,
    steps: async (_call, index) => {
      if (index === 0) await hold.passed
      return { text: `Answer ${index}.` }
    },
    runtimeOptions: { concurrency: 1 },
  })
  const other = await postChat(it, chatBody([userMessage('u0', 'elsewhere')], { id: 'other' }))
  return { it, free: () => (hold.open(), allUiFrames(other)) }
}

/** Lets a page send a message that is accepted, and stops it while it waits for a run slot. */
async function sendAndStop(it: Bench, chat: ReturnType<typeof openChat>, text: string): Promise<void> {
  const before = chat.messages.length
  const sending = chat.sendMessage({ text })
  await expect.poll(() => chat.messages.length).toBe(before + 2)
  expect((await load(it)).run).toMatchObject({ status: 'queued' })
  expect(await stop(it)).toMatchObject({ state: 'settled', status: 'stopped' })
  await sending
}

describe.each(stores)('a message that is stopped before its turn has begun, over the $name store', ({ make }) => {
  it('V101, V102, S126: is withdrawn on the page and in the history, also several in a row, and later answers do not see it', async () => {
    const { it, free } = await fullServer({ store: make() })
    const chat = openChat(it)
    for (const text of ['one', 'two']) await sendAndStop(it, chat, text)
    expect([chat.status, chat.error]).toEqual(['ready', undefined])
    expect(chat.lastMessage?.parts).toContainEqual({ type: 'data-withdrawn', data: { runId: chat.lastMessage?.id } })
    await free()
    await chat.sendMessage({ text: 'three' })
    expect(lines(chat.messages)).toEqual([
      'user: one',
      'assistant: (withdrawn)',
      'user: two',
      'assistant: (withdrawn)',
      'user: three',
      'assistant: Answer 1.',
    ])
    expect(json((await load(it)).messages)).toEqual(json(chat.messages))
    expect(promptsOf(it)).toMatch(/^(?!.*(one|two)).*three/)
    expect(it.faults).toEqual([])
  })

  it('V46: stays withdrawn if sent again under its id; regenerate sends it anew', async () => {
    const { it, free } = await fullServer({ store: make() })
    const chat = openChat(it)
    await sendAndStop(it, chat, 'one')
    const repeat = await messageOf(chunksOf(await allUiFrames(await postChat(it, chatBody([chat.messages[0] ?? {}])))))
    expect(json(repeat)).toEqual(json(chat.lastMessage))
    await free()
    expect(it.model.calls).toHaveLength(1)
    await chat.regenerate()
    expect(lines(chat.messages)).toEqual(['user: one', 'assistant: Answer 1.'])
    expect(json((await load(it)).messages)).toEqual(json(chat.messages))
    expect(promptsOf(it)).toContain('one')
  })

  it('V47, V101: regenerate resumes it in its place, before later answers', async () => {
    const { it, free } = await fullServer({ store: make() })
    const chat = openChat(it)
    await sendAndStop(it, chat, 'one')
    await free()
    for (const text of ['two', 'three']) await chat.sendMessage({ text })
    await chat.regenerate({ messageId: chat.messages[0]?.id ?? '' })
    expect(lines(chat.messages)).toEqual(['user: one', 'assistant: Answer 3.'])
    expect(json((await load(it)).messages)).toEqual(json(chat.messages))
    expect(JSON.stringify(it.model.calls[3]?.prompt)).not.toContain('two')
    await chat.sendMessage({ text: 'four' })
    expect(json((await load(it)).messages)).toEqual(json(chat.messages))
  })

  it.each(['kill', 'stop'] as const)(
    'V101: the same holds after an answer that a %s ends with it, and a copy does not contain it',
    async (mode) => {
      const it = await bench({ store: make(), steps: [{ text: 'Zero.' }, { hang: 'before' }, { text: 'Next.' }] })
      const chat = openChat(it)
      await chat.sendMessage({ text: 'zero' })
      const sending = chat.sendMessage({ text: 'one' })
      await expect.poll(() => it.model.calls).toHaveLength(2)
      for (const text of ['two', 'three']) await it.post('/api/agent/session/mine/follow-up', { input: say(text) })
      expect((await it.post('/api/agent/session/mine/stop', mode === 'kill' ? { mode } : { scope: 'all' })).status).toBe(200)
      await sending
      const { messages } = await load(it)
      expect(lines(messages).slice(2)).toEqual([
        'user: one',
        'assistant: ',
        'user: two',
        'assistant: (withdrawn)',
        'user: three',
        'assistant: (withdrawn)',
      ])
      const later = openChat(it, { messages })
      await later.sendMessage({ text: 'four' })
      expect(json((await load(it)).messages)).toEqual(json(later.messages))
      expect(promptsOf(it)).toMatch(/^(?!.*(two|three)).*four/)
      expect((await it.post('/api/agent/session/mine/fork', { newSessionId: 'copy' })).status).toBe(201)
      expect(lines((await load(it, 'copy')).messages).join()).not.toContain('two')
    },
  )
})

it('V101: a message that failed and was rewound is withdrawn too; one that was stopped later, or failed and stays, is not', async () => {
  const failure = Object.assign(new Error('revoked'), { statusCode: 401, responseBody: '', isRetryable: false })
  for (const onFailedTurn of ['rewind', 'keep'] as const) {
    const it = await bench({
      steps: [{ error: failure }, { text: 'Half of it.', hang: 'middle' }, { text: 'Next.' }],
      runtimeOptions: { onFailedTurn },
    })
    const chat = openChat(it)
    await chat.sendMessage({ text: 'one' })
    const sending = chat.sendMessage({ text: 'two' })
    await expect.poll(() => chat.status).toBe('streaming')
    await stop(it)
    await sending
    await chat.sendMessage({ text: 'three' })
    const isTakenBack = onFailedTurn === 'rewind'
    expect(lines(chat.messages).filter((line) => line.includes('withdrawn'))).toEqual(isTakenBack ? ['assistant: (withdrawn)'] : [])
    expect(json((await load(it)).messages)).toEqual(json(chat.messages))
    expect(JSON.stringify(it.model.calls[2]?.prompt).includes('one')).toBe(!isTakenBack)
  }
})
