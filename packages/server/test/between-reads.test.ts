import { defineExtension } from '@bowline/agent-loop'
import type { SessionView } from '@bowline/client'
import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import { bench, change, gate, refusal, remoteTool, say } from './support/bench.ts'
import { allUiFrames, chatBody, chunksOf, postChat, userMessage } from './support/chat.ts'
import { allFrames } from './support/frames.ts'

const mine = '/api/agent/session/mine'
const view = async (answer: Promise<Response>) => (await (await answer).json()) as SessionView

/** Returns views of a session in which events happen before the first reads of its messages. */
async function viewWithCommits(commits: number): Promise<{ readonly torn: SessionView; readonly whole: SessionView }> {
  const steps = [{ text: 'One.' }, ...Array.from({ length: commits }, () => ({ text: 'More.' }))]
  const it = await bench({ steps })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('first'), context: {} }))
  let left = commits
  change(it.runtime, (session) => ({
    messages: async (page) => {
      if (left-- > 0) await allFrames(await it.execute({ sessionId: 'mine', input: say('more') }))
      return session.messages(page)
    },
  }))
  return { torn: await view(it.get(mine)), whole: await view(it.get(mine)) }
}

it.each([1, 2, 9])('V18: a view shows one moment, also when %i commits come between its reads', async (commits) => {
  const { torn, whole } = await viewWithCommits(commits)
  expect(torn.messages).toHaveLength(2 + 2 * commits)
  expect(torn).toEqual(whole)
})

it('V18: a view is refused, never torn, if commits come between its reads for 10 s', async () => {
  const clock = manualClock()
  const it = await bench({ clock, steps: Array.from({ length: 4 }, () => ({ text: 'One.' })) })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('first'), context: {} }))
  change(it.runtime, (session) => ({
    messages: async (page) => {
      await allFrames(await it.execute({ sessionId: 'mine', input: say('more') }))
      await clock.advance(4_000)
      return session.messages(page)
    },
  }))
  await refusal(it.get(mine), 503, 'store-unavailable')
})

it('V18: the pending calls of a run match the messages', async () => {
  const it = await bench({
    steps: [{ text: 'One.' }, { toolCalls: [{ id: 'c1', name: 'place', input: {} }] }],
    tools: [remoteTool('place')],
  })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('first'), context: {} }))
  let asked = false
  change(it.runtime, (session) => ({
    messages: async (page) => {
      if (!asked) await allFrames(await it.execute({ sessionId: 'mine', input: say('where?') }))
      asked = true
      return session.messages(page)
    },
  }))
  expect(await view(it.get(mine))).toMatchObject({ pendingToolCalls: [{ toolCallId: 'c1' }], run: { status: 'waiting-for-user' } })
})

it('V18, V45: a page that is loaded while the hooks of a suspension run shows the question, and answers it', async () => {
  const hook = gate()
  let hooked = 0
  const slow = defineExtension({ name: 'slow', hooks: { onAgentEnd: () => (hooked++ === 0 ? hook.passed : undefined) } })
  const it = await bench({
    steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }, { text: 'In Oslo.' }],
    tools: [remoteTool('place')],
    extensions: [slow],
  })
  const stream = await it.execute({ sessionId: 'mine', input: say('where?'), context: {} })
  for await (const event of it.runtime.reader('tenant:local:s:mine').events()) if (event.type === 'save-point') break
  expect(await view(it.get(mine))).toMatchObject({
    status: 'waiting-for-user',
    run: { status: 'waiting-for-user', outcome: 'awaiting-tools' },
    pendingToolCalls: [{ toolCallId: 'c1' }],
  })
  const answer = {
    id: stream.headers.get('x-run-id'),
    role: 'assistant',
    parts: [{ type: 'tool-place', toolCallId: 'c1', state: 'output-available', input: {}, output: 'Oslo' }],
  }
  const given = gate()
  change(it.runtime, (session) => ({
    submitToolResults: (...results) => {
      const submitting = session.submitToolResults(...results)
      given.open()
      return submitting
    },
  }))
  const answering = postChat(it, chatBody([userMessage('u1', 'where?'), answer]))
  await given.passed
  await new Promise(setImmediate)
  hook.open()
  const chunks = chunksOf(await allUiFrames(await answering))
  expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? chunk.delta : [])).join('')).toBe('In Oslo.')
  await stream.body?.cancel()
})

it('V25: an id that another request takes between check and fork is refused as taken', async () => {
  const it = await bench({ steps: [{ text: 'One.' }] })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('first'), context: {} }))
  expect((await it.post(`${mine}/fork`, { newSessionId: 'copy' })).status).toBe(201)
  change(it.runtime, ({ key, info }) => ({ info: key.endsWith(':copy') ? async () => null : info }))
  await refusal(it.post(`${mine}/fork`, { newSessionId: 'copy' }), 409, 'session-exists')
})

it('V78, V96: a HEAD of a stream opens none: its slot is free for the next request', async () => {
  const it = await bench({ steps: [{ text: 'One.' }], limits: { streamsPerSession: 1 } })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('first'), context: {} }))
  const ask = (method: string) => {
    const request = new Request(`http://127.0.0.1${mine}/events`, { method, headers: { host: '127.0.0.1' } })
    return it.server.fetch(request, { remoteAddress: '127.0.0.1' })
  }
  for (let again = 0; again < 3; again++) expect([(await ask('HEAD')).status, (await ask('HEAD')).body]).toEqual([200, null])
  const read = await ask('GET')
  expect(read.status).toBe(200)
  await read.body?.cancel()
})
