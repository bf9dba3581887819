import type { ViewMessage } from '@bowline/agent-loop/events'
import { createClient } from '@bowline/client'
import type { Client, ClientEvent } from '@bowline/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StudioInfo } from '@bowline/studio/info'
import { openPage } from './browse.ts'
import { makeDataFolder, removeDataFolder, startDemo } from './demo-process.ts'
import type { DemoProcess } from './demo-process.ts'

/** Speed at which each tool takes a few hundred ms: a stop comes before its end. */
const speed = '0.1'

let demo: DemoProcess
let client: Client
let deaths = 0

beforeAll(async () => {
  demo = await startDemo(await makeDataFolder(), { DEMO_SPEED: speed })
  const { request } = await openPage(demo.url)
  client = createClient({ baseUrl: demo.url, fetch: (input, init) => request(input instanceof Request ? input.url : String(input), init) })
}, 60_000)

afterAll(async () => {
  await demo.stop()
  await removeDataFolder(demo.dataFolder)
}, 30_000)

async function killAt(at: string, sessionId: string): Promise<void> {
  const { post } = await openPage(demo.url)
  expect((await post('/studio/kill', { at, sessionId })).status).toBe(202)
}

/** Waits for one more death of the server and for the next process. */
async function died(): Promise<void> {
  await demo.printed(new RegExp(`^(?:(?:(?!is back)[^])*is back){${++deaths}}`))
}

/** Returns the events of a session up to the given number of events of this type. */
async function eventsOf(sessionId: string, type: ClientEvent['type'], times = 1): Promise<readonly ClientEvent[]> {
  const events: ClientEvent[] = []
  let left = times
  for await (const event of client.session(sessionId).attach({ from: 'start' })) {
    events.push(event)
    if (event.type === type && --left === 0) break
  }
  return events
}

async function effects(): Promise<StudioInfo['effects']> {
  const { request } = await openPage(demo.url)
  return ((await (await request('/studio/info')).json()) as StudioInfo).effects
}

/** Returns the conversation without ids and times. */
async function talkOf(sessionId: string): Promise<readonly unknown[]> {
  const { messages } = await client.session(sessionId).state()
  return messages.map((message: ViewMessage) =>
    message.role === 'tool-result' ? [message.toolName, message.status, message.output] : [message.role, message.content],
  )
}

describe('a server that is killed at a chosen moment', { timeout: 90_000 }, () => {
  it('D24, D26: in a payment: it is made once, its outcome is unknown, and a person decides', async () => {
    await killAt('in-tool', 'invoice')
    const run = client.session('invoice').send('pay the invoice')
    await died()
    await eventsOf('invoice', 'turn-end')
    // The questions are stored shortly after the end of the turn.
    const state = () => client.session('invoice').state()
    await expect.poll(async () => (await state()).status, { timeout: 20_000 }).toBe('needs-recovery')
    const { pendingToolCalls } = await state()
    expect(pendingToolCalls.map(({ toolName }) => toolName)).toEqual(['pay_invoice'])
    await client.session('invoice').resolveTool(pendingToolCalls[0]?.toolCallId ?? '', { result: { paid: true, receipt: 'R-2041' } })
    await eventsOf('invoice', 'settled')
    expect((await client.session('invoice').state()).status).toBe('completed')
    expect((await effects())?.['payments']).toBe(1)
    await run.result()
  })

  it('D39: in work of a worker, while other runs wait for a colleague, a researcher and a plan: all end as undisturbed ones', async () => {
    const says = {
      worker: 'ask the worker',
      colleague: 'ask the colleague',
      knots: 'research knots',
      plan: 'make a plan',
      weather: 'what is the weather in Oslo and Lima',
    }
    const settled = (id: string): number => (id.endsWith('knots') ? 2 : 1)
    for (const [id, text] of Object.entries(says)) {
      await client.session(`calm-${id}`).send(text).accepted()
      await eventsOf(`calm-${id}`, 'settled', settled(id))
    }
    await killAt('in-tool', 'worker')
    for (const [id, text] of Object.entries(says)) if (id !== 'worker') void client.session(id).send(text).result()
    void client.session('worker').send(says.worker).result()
    await died()
    const logs = await Promise.all(Object.keys(says).map((id) => eventsOf(id, 'settled', settled(id))))
    for (const id of Object.keys(says)) expect(withoutTaskIds(await talkOf(id)), id).toEqual(withoutTaskIds(await talkOf(`calm-${id}`)))
    // The worker got the same request again.
    expect(logs[0]?.filter(({ type }) => type === 'tool-execution-start')).toHaveLength(2)
    expect(logs[0]?.filter(({ type }) => type === 'child-start')).toHaveLength(1)
  })

  it('D24: before an input is stored: the client sends it again, and it becomes one run', async () => {
    await killAt('before-commit', 'before')
    const result = await client.session('before').send('tell me a story').result()
    await died()
    expect(result.status).toBe('completed')
    expect((await eventsOf('before', 'settled')).filter(({ type }) => type === 'run-queued')).toHaveLength(1)
  })

  it('D15: in an approved deletion: it is finished, and counted once', async () => {
    const { pendingApprovals } = await client.session('report').send('delete the report').result()
    await killAt('in-tool', 'report')
    await client.session('report').approve(pendingApprovals?.[0]?.approvalId ?? '')
    await died()
    await eventsOf('report', 'settled')
    expect((await talkOf('report')).at(-1)).toEqual(['assistant', [{ type: 'text', text: '`q3-draft` is **deleted** for good.' }]])
    expect((await effects())?.['deletions']).toBe(1)
  })
})

function withoutTaskIds(talk: readonly unknown[]): unknown {
  return JSON.parse(JSON.stringify(talk).replaceAll(/bg_[0-9a-f]{32}/g, 'bg'))
}
