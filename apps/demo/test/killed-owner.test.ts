import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { emptyView, isDurable } from '@bowline/agent-loop/events'
import type { ViewMessage } from '@bowline/agent-loop/events'
import { foldEvent } from '@bowline/client'
import type { Client, ClientEvent, ClientSession } from '@bowline/client'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { rounds, testSeed } from '../../../scripts/test-length.ts'
import type { StudioInfo } from '@bowline/studio/info'
import { openPage } from './browse.ts'
import { makeDataFolder, removeDataFolder, startDemo } from './demo-process.ts'
import type { DemoProcess } from './demo-process.ts'
import { clientAt, killAt, paymentKeys, tellsOfDeath, untilSettled } from './disturbed.ts'

const intents = ['what is the weather in Oslo and Lima', 'tell me a story', 'pay the invoice'] as const
const deaths = rounds({ short: 3, long: 40 })
/** Speed at which each phrase takes more than a second, and longer on a busy machine. */
const speed = '0.2'
const longestDelayMs = 1000

const database = testDatabase()
/** Database of a demo with slow tools: on any machine a stop comes before they end. */
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

it(
  `D39, D40, D26: the owner of a session dies ${deaths} times at random moments: its conversation ends as an undisturbed one, each payment is made once, and each tab shows the same`,
  { timeout: rounds({ short: 120_000, long: 900_000 }) },
  async () => {
    const { request } = await openPage(demo.url)
    const client = await clientAt(demo.url)
    const undisturbed = await Promise.all(intents.map(async (text) => settledShape(await begin(client, text))))
    let disturbed = 0
    for (let death = 1; death <= deaths; death++) {
      const { delayMs, victim } = drawDeath(death)
      const where = `seed ${testSeed}, death ${death}: of the owner of “${intents[victim]}”, after ${delayMs} ms`
      const sessions = await Promise.all(intents.map((text) => begin(client, text)))
      const tabs = sessions.map(readAll)
      await Promise.all([killAt(demo.url, { delayMs, sessionId: sessions[victim]?.id ?? '' }), wait(delayMs)])
      // Tabs that are opened or reloaded while the server dies.
      const laterTabs = sessions.map(readAll)
      const shapes = await Promise.all(sessions.map(settledShape))
      for (const [place, shape] of shapes.entries()) {
        const [tab = [], later = []] = await Promise.all([tabs[place], laterTabs[place]])
        expect(shape, where).toEqual(undisturbed[place])
        for (const events of [tab, later]) expect(shapeOf(events.reduce(foldEvent, emptyView).messages), where).toEqual(undisturbed[place])
        expect(later.filter(isDurable), where).toEqual(tab.filter(isDurable))
        if (tab.some(tellsOfDeath)) disturbed++
      }
      await demo.printed(times('is back', death))
      const { servers } = (await (await request('/studio/info')).json()) as StudioInfo
      expect(
        servers?.filter(({ pid }) => pid !== undefined).map(({ name }) => name),
        where,
      ).toEqual(['A', 'B'])
    }
    // Otherwise no kill interrupted any work.
    expect(disturbed).toBeGreaterThan(0)
    const { sessions: all } = await client.sessions({ limit: 200 })
    expect(all.map(({ status }) => status)).toEqual(Array.from({ length: intents.length * (deaths + 1) }, () => 'completed'))
    const payments = await paymentKeys(demo.dataFolder)
    expect(payments).toHaveLength(deaths + 1)
    expect(new Set(payments).size).toBe(deaths + 1)
  },
)

it(
  'D18, D27: a stop that comes to either server ends the run at once, and all tabs show the outcome of the call',
  { timeout: 90_000 },
  async () => {
    const slow = await startDemo(await makeDataFolder(), { DEMO_STORE: slowDatabase.url, DEMO_SPEED: slowSpeed })
    onTestFinished(async () => {
      await slow.stop()
      await removeDataFolder(slow.dataFolder)
    })
    const client = await clientAt(slow.url)
    // The proxy sends each request to the next server: some of these stops reach the owner of the run and some do not.
    const sessions = await Promise.all(Array.from({ length: 4 }, () => begin(client, 'index the docs')))
    const tabs = sessions.map(readAll)
    const receipts = await Promise.all(
      sessions.map(async (session) => {
        for await (const event of session.attach({ from: 'start' })) if (event.type === 'tool-execution-start') break
        return session.stop({ waitMs: 20_000 })
      }),
    )
    for (const { state, calls } of receipts)
      expect({ state, calls }).toMatchObject({ state: 'settled', calls: [{ toolName: 'index_docs', status: 'error' }] })
    const seen = await Promise.all(tabs)
    for (const [place, session] of sessions.entries()) {
      const { status, messages } = await session.state()
      expect(status).toBe('stopped')
      expect(seen[place]?.reduce(foldEvent, emptyView).messages).toEqual(messages)
    }
  },
)

it('D14, D24: a question to the page survives the death of a server; one tab answers, and the other goes on too', async () => {
  const [client, other] = await Promise.all([clientAt(demo.url), clientAt(demo.url)])
  const session = await begin(client, 'where am I')
  const tab = readAll(session)
  for await (const event of session.attach({ from: 'start' })) if (event.type === 'turn-end') break
  const deathsBefore = demo.output().match(/ended \(SIGKILL\)/g)?.length ?? 0
  await killAt(demo.url, { delayMs: 0, sessionId: session.id })
  await demo.printed(times('ended \\(SIGKILL', deathsBefore + 1))
  // The owner may have died after the end of the turn but before the run was idle: the other server then takes it over.
  const questions = async () => (await other.session(session.id).state()).pendingToolCalls
  await expect.poll(questions, { timeout: 30_000 }).toMatchObject([{ toolName: 'get_location' }])
  const [question] = await questions()
  await other.session(session.id).submitToolResults([{ toolCallId: question?.toolCallId ?? '', output: { place: 'Pier 7, Old Harbour' } }])
  const { messages } = (await tab).reduce(foldEvent, emptyView)
  expect(JSON.stringify(shapeOf(messages).at(-1))).toContain('Pier 7')
  expect(messages).toEqual((await other.session(session.id).state()).messages)
})

/** Matches an output with this number of matches, in exactly one way: it is tested on every part of the output. */
function times(form: string, count: number): RegExp {
  return new RegExp(`^(?:(?:(?!${form})[^])*${form}){${count}}`)
}

/** Returns a kill. The same seed gives the same result. */
function drawDeath(death: number): { readonly delayMs: number; readonly victim: number } {
  const drawn = createHash('sha256').update(`${testSeed} ${death}`).digest()
  return { delayMs: drawn.readUInt16BE(0) % longestDelayMs, victim: drawn.readUInt16BE(2) % intents.length }
}

async function begin(client: Client, text: string): Promise<ClientSession> {
  const run = client.session().send(text)
  expect(await run.accepted()).toMatchObject({ ok: true })
  return client.session(run.sessionId)
}

/** Returns all events of a session with one input, as a tab reads them. */
async function readAll(session: ClientSession): Promise<readonly ClientEvent[]> {
  const events: ClientEvent[] = []
  for await (const event of session.attach({ from: 'start' })) {
    events.push(event)
    if (event.type === 'settled') break
  }
  return events
}

async function settledShape(session: ClientSession): Promise<readonly unknown[]> {
  await untilSettled(session, demo.dataFolder)
  return shapeOf((await session.state()).messages)
}

/** Returns the messages without ids and times. */
function shapeOf(messages: readonly ViewMessage[]): readonly unknown[] {
  return messages.map((message) =>
    message.role === 'tool-result'
      ? { role: message.role, toolName: message.toolName, status: message.status, output: message.output }
      : { role: message.role, content: message.content },
  )
}
