import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import { expect } from 'vitest'
import { testInBrowser } from './browser.ts'

interface Message {
  readonly id: string
  readonly data: string
}

const text = 'data: no frame\n\n“knot” 🪢 '.repeat(5)

/** Starts a server on loopback whose model answers every input with the same text. */
async function startServer() {
  const agent = defineAgent({ name: 'assistant', model: scriptedModel(() => ({ text, chunk: 3 })) })
  const runtime = createRuntime({ agents: [agent] })
  await runtime.start()
  return serve(createServer({ runtime, auth: 'none' }), { port: 0 })
}

async function say(url: string, more: object): Promise<void> {
  const body = JSON.stringify({ sessionId: 'mine', input: { role: 'user', content: 'Hi' }, ...more })
  const answer = await fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  expect(await answer.text()).toContain('"status":"completed"')
}

testInBrowser('V99: the EventSource of Chromium reads a log as it is written', async (browser) => {
  const running = await startServer()
  try {
    await say(running.url, { context: {} })
    const page = await browser.newPage()
    // A page of the same origin: no other may read the stream.
    await page.goto(`${running.url}/healthz`)
    const reading = page.evaluate(
      (address) =>
        new Promise<Message[]>((resolve) => {
          const messages: Message[] = []
          const source = new EventSource(address)
          source.onmessage = ({ lastEventId: id, data }: MessageEvent<string>) => {
            messages.push({ id, data })
            if (messages.filter((each) => each.data.includes('"type":"settled"')).length < 2) return
            source.close()
            resolve(messages)
          }
        }),
      `${running.url}/api/agent/session/mine/events?from=start`,
    )
    await say(running.url, {})
    const messages = (await reading).map(({ id, data }) => ({ id, event: JSON.parse(data) as { type: string; message?: object } }))
    const durable = messages.filter(({ event }) => 'seq' in event)
    expect(durable.map(({ id }) => id)).toEqual(durable.map((_, place) => String(place + 1)))
    const answers = durable.filter(({ event }) => event.type === 'message-end').map(({ event }) => event.message)
    expect(answers).toMatchObject([{ content: [{ type: 'text', text }] }, { content: [{ type: 'text', text }] }])
  } finally {
    await running.close({ drainMs: 0 })
  }
})

testInBrowser('V99, V33: it reconnects after the last frame it has seen, and stops when nothing is left', async (browser) => {
  const running = await startServer()
  try {
    await say(running.url, { context: {} })
    const page = await browser.newPage()
    await page.goto(`${running.url}/healthz`)
    const statuses: number[] = []
    page.on('response', (response) => statuses.push(response.status()))
    const ids = await page.evaluate(
      (address) =>
        new Promise<string[]>((resolve) => {
          const seen: string[] = []
          const source = new EventSource(address)
          source.onmessage = ({ lastEventId }) => seen.push(lastEventId)
          source.onerror = () => {
            if (source.readyState === EventSource.CLOSED) resolve(seen)
          }
        }),
      `${running.url}/api/agent/session/mine/events?cursor=0&until=settled`,
    )
    expect(statuses).toEqual([200, 204])
    // The last frame repeats the cursor of the last event.
    expect(ids).toEqual([...ids.keys()].map((place) => String(Math.min(place + 1, ids.length - 1))))
  } finally {
    await running.close({ drainMs: 0 })
  }
})
