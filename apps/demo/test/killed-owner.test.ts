import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { emptyView, isDurable } from '@bowline/agent-loop/events'
import type { ViewMessage } from '@bowline/agent-loop/events'
import { createClient, foldEvent } from '@bowline/client'
import type { Client, ClientEvent, ClientSession, SessionView } from '@bowline/client'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { rounds, testSeed } from '../../../scripts/test-length.ts'
import type { StudioInfo } from '@bowline/studio/info'
import { openPage } from './browse.ts'
import { makeDataFolder, removeDataFolder, startDemo } from './demo-process.ts'
import type { DemoProcess } from './demo-process.ts'

const intents = ['what is the weather in Oslo and Lima', 'tell me a story', 'pay the invoice'] as const
const deaths = rounds({ short: 3, long: 40 })
/** Each intent then takes more than a second. On a busy machine all of it takes longer. */
const speed = '0.2'
const longestDelayMs = 1000

const database = testDatabase()
/** The database of a demo with slow tools: on any machine a stop comes before they end. */
const slowDatabase = testDatabase()
const slowSpeed = '4'
let demo: DemoProcess

beforeAll(async () => {
  demo = await startDemo(await makeDataFolder(), { DEMO_STORE: database.url, DEMO_SPEED: speed })
}, 60_000)

afterAll(async () => {
  await demo.stop()
  await removeDataFolder(demo.dataFolder)
}, 30_000)

it(`D39, D40, D26: the owner of a session dies ${deaths} times at drawn moments: its conversation ends as an undisturbed one, each payment is made once, and each tab shows the same`, { timeout: rounds({ short: 120_000, long: 900_000 }) }, async () => {
  const { request } = await openPage(demo.url)
  const client = await clientOf(demo)
  const undisturbed = await Promise.all(intents.map(async (text) => shapeOf((await untilSettled(await begin(client, text))).messages)))
  let disturbed = 0
  for (let death = 1; death <= deaths; death++) {
    const { delayMs, victim } = drawDeath(death)
    const where = `seed ${testSeed}, death ${death}: of the owner of “${intents[victim]}”, after ${delayMs} ms`
    const sessions = await Promise.all(intents.map((text) => begin(client, text)))
    const tabs = sessions.map(readAll)
    await Promise.all([killOwner(sessions[victim]?.id, delayMs), wait(delayMs)])
    // Tabs that are opened, or reloaded, as the server dies.
    const laterTabs = sessions.map(readAll)
    const views = await Promise.all(sessions.map((session) => untilSettled(session)))
    for (const [place, { messages }] of views.entries()) {
      const [tab = [], later = []] = await Promise.all([tabs[place], laterTabs[place]])
      expect(shapeOf(messages), where).toEqual(undisturbed[place])
      for (const events of [tab, later]) expect(shapeOf(events.reduce(foldEvent, emptyView).messages), where).toEqual(undisturbed[place])
      expect(later.filter(isDurable), where).toEqual(tab.filter(isDurable))
      if (tab.some(tellsOfDeath)) disturbed++
    }
    await demo.printed(times('is back', death))
    const { servers } = (await (await request('/studio/info')).json()) as StudioInfo
    expect(servers?.filter(({ pid }) => pid !== undefined).map(({ name }) => name), where).toEqual(['A', 'B'])
  }
  // Else no moment was in the middle of anything.
  expect(disturbed).toBeGreaterThan(0)
  const { sessions: all } = await client.sessions({ limit: 200 })
  expect(all.map(({ status }) => status)).toEqual(Array.from({ length: intents.length * (deaths + 1) }, () => 'completed'))
  const payments = await paymentsOf()
  expect(payments).toHaveLength(deaths + 1)
  expect(new Set(payments).size).toBe(deaths + 1)
})

it('D18, D27: a stop that comes to either server ends the run at once, and all tabs show what became of the call', { timeout: 90_000 }, async () => {
  const slow = await startDemo(await makeDataFolder(), { DEMO_STORE: slowDatabase.url, DEMO_SPEED: slowSpeed })
  onTestFinished(async () => {
    await slow.stop()
    await removeDataFolder(slow.dataFolder)
  })
  const client = await clientOf(slow)
  // The front hands each request to the next server: some of these stops reach the owner of the run and some do not.
  const sessions = await Promise.all(Array.from({ length: 4 }, () => begin(client, 'index the docs')))
  const tabs = sessions.map(readAll)
  const receipts = await Promise.all(
    sessions.map(async (session) => {
      for await (const event of session.attach({ from: 'start' })) if (event.type === 'tool-execution-start') break
      return session.stop({ waitMs: 20_000 })
    }),
  )
  for (const { state, calls } of receipts) expect({ state, calls }).toMatchObject({ state: 'settled', calls: [{ toolName: 'index_docs', status: 'error' }] })
  const seen = await Promise.all(tabs)
  for (const [place, session] of sessions.entries()) {
    const { status, messages } = await session.state()
    expect(status).toBe('stopped')
    expect(seen[place]?.reduce(foldEvent, emptyView).messages).toEqual(messages)
  }
})

it('D14, D24: a question to the page outlives the death of a server; one tab answers, and the other goes on too', async () => {
  const [client, other] = await Promise.all([clientOf(demo), clientOf(demo)])
  const session = await begin(client, 'where am I')
  const tab = readAll(session)
  for await (const event of session.attach({ from: 'start' })) if (event.type === 'turn-end') break
  const deathsBefore = demo.output().match(/ended \(SIGKILL\)/g)?.length ?? 0
  await killOwner(session.id, 0)
  await demo.printed(times('ended \\(SIGKILL', deathsBefore + 1))
  // The owner may have died behind the end of the turn, before the run was at rest: the other one then takes it up.
  const questions = async () => (await other.session(session.id).state()).pendingToolCalls
  await expect.poll(questions, { timeout: 30_000 }).toMatchObject([{ toolName: 'get_location' }])
  const [question] = await questions()
  await other.session(session.id).submitToolResults([{ toolCallId: question?.toolCallId ?? '', output: { place: 'Pier 7, Old Harbour' } }])
  const { messages } = (await tab).reduce(foldEvent, emptyView)
  expect(JSON.stringify(shapeOf(messages).at(-1))).toContain('Pier 7')
  expect(messages).toEqual((await other.session(session.id).state()).messages)
})

async function clientOf({ url }: DemoProcess): Promise<Client> {
  const { request } = await openPage(url)
  return createClient({ baseUrl: url, fetch: (input, init) => request(input instanceof Request ? input.url : String(input), init) })
}

/** Matches an output with so many of them, in one way only: it is tried on each part of the output. */
function times(form: string, count: number): RegExp {
  return new RegExp(`^(?:(?:(?!${form})[^])*${form}){${count}}`)
}

/** Kills as the button of the page does. The server that is asked may be the one that dies, before it has answered. */
async function killOwner(sessionId: string | undefined, delayMs: number): Promise<void> {
  const { post } = await openPage(demo.url)
  await post('/studio/kill', { delayMs, sessionId }).catch((error: unknown) => expect((error as Error).message).toBe('fetch failed'))
}

/** The same each time for one seed. */
function drawDeath(death: number): { readonly delayMs: number; readonly victim: number } {
  const drawn = createHash('sha256').update(`${testSeed} ${death}`).digest()
  return { delayMs: drawn.readUInt16BE(0) % longestDelayMs, victim: drawn.readUInt16BE(2) % intents.length }
}

async function begin(client: Client, text: string): Promise<ClientSession> {
  const run = client.session().send(text)
  expect(await run.accepted()).toMatchObject({ ok: true })
  return client.session(run.sessionId)
}

/** All events of a session with one input, as a tab reads them. */
async function readAll(session: ClientSession): Promise<readonly ClientEvent[]> {
  const events: ClientEvent[] = []
  for await (const event of session.attach({ from: 'start' })) {
    events.push(event)
    if (event.type === 'settled') break
  }
  return events
}

/** Waits until the session is settled. Resolves an open payment by the book of payments, as a reader would. */
async function untilSettled(session: ClientSession): Promise<SessionView> {
  let key: string | undefined
  for await (const event of session.attach({ from: 'start' })) {
    if (event.type === 'settled') break
    if (event.type === 'tool-execution-start') key = event.idempotencyKey
    if (event.type !== 'turn-end' || event.status !== 'needs-recovery') continue
    const isPaid = (await paymentsOf()).some((payment) => payment === key)
    // A moment behind the end of the turn the run is at rest.
    const questions = async () => (await session.state()).pendingToolCalls
    await expect.poll(questions, { timeout: 30_000 }).not.toEqual([])
    const pendingToolCalls = await questions()
    for (const { toolCallId } of pendingToolCalls) await session.resolveTool(toolCallId, isPaid ? { result: { paid: true, receipt: 'R-2041' } } : { runAgain: true })
  }
  return session.state()
}

function tellsOfDeath(event: ClientEvent): boolean {
  if (event.type === 'turn-end') return event.status === 'needs-recovery'
  return event.type === 'message-discarded' || (event.type === 'tool-execution-start' && event.attempt > 1)
}

/** The keys under which money moved. */
async function paymentsOf(): Promise<readonly string[]> {
  const lines = (await readFile(join(demo.dataFolder, 'receipts.jsonl'), 'utf8')).trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { readonly key: string }).key)
}

/** Returns the messages without ids and times. */
function shapeOf(messages: readonly ViewMessage[]): readonly unknown[] {
  return messages.map((message) =>
    message.role === 'tool-result'
      ? { role: message.role, toolName: message.toolName, status: message.status, output: message.output }
      : { role: message.role, content: message.content },
  )
}
