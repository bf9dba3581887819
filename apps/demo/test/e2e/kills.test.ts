import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { rounds, testSeed } from '../../../../scripts/test-length.ts'
import { clientAt, killAt, paymentKeys, tellsOfDeath, untilSettled } from '../disturbed.ts'
import { describeWithServer } from './browser.ts'
import type { Stage } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { eventually } from './eventually.ts'
import { readSession } from './session-state.ts'
import type { Entry } from './session-state.ts'

const intents = ['what is the weather in Oslo and Lima', 'tell me a story', 'pay the invoice', 'index the docs', 'make a plan'] as const
/** In each round, five tabs send the five phrases at once, and the server dies twice. */
const talks = rounds({ short: 5, long: 50 })
const deaths = 2 * talks
/** Speed at which each phrase takes about a second, and longer on a busy machine. */
const speed = '0.15'
const longestDelayMs = 900
/** Window that shows only the conversation. */
const phone = { width: 390, height: 844 }

describeWithServer('a server that dies at random moments', { DEMO_SPEED: speed }, (stage) => {
  it(
    `D39, D40: ${deaths} deaths hit five intents; tabs, reloaded and opened during a death, show the same as undisturbed ones, and each payment is made once`,
    { timeout: rounds({ short: 150_000, long: 1_500_000 }) },
    () =>
      inTabs(stage().visit, async (tabs) => {
        const { demo } = stage()
        const undisturbed = await begin(tabs)
        await Promise.all(tabs.map((tab) => tab.reaches('completed')))
        const expected = await Promise.all(
          tabs.map(async (tab, place) => (await readSession(tab.page, undisturbed[place] ?? '')).map(withoutId)),
        )
        for (const [place, tab] of tabs.entries()) await eventually(async () => expect(await shown(tab)).toEqual(expected[place]))
        let disturbed = 0
        for (let talk = 1; talk <= talks; talk++) {
          const sessions = await begin(tabs)
          const drawn = draw(talk)
          const where = `seed ${testSeed}, talk ${talk}: ${JSON.stringify(drawn)}`
          const other = Promise.withResolvers<DemoPage>()
          for (const [hit, { killMs, tabMs, tab }] of drawn.entries()) {
            const watched = tabs[tab] as DemoPage
            await Promise.all([
              wait(killMs).then(() => killAt(demo.url)),
              // One tab is opened around the first death, and one is reloaded around the second.
              wait(tabMs).then(() => (hit === 0 ? watched.besideDying().then(other.resolve) : watched.reloadDying())),
            ])
            await eventually(async () => expect(demo.returns(), where).toBe(2 * (talk - 1) + hit + 1))
          }
          const client = await clientAt(demo.url)
          const logs = await Promise.all(sessions.map((id) => untilSettled(client.session(id), demo.dataFolder)))
          disturbed += logs.filter((events) => events.some(tellsOfDeath)).length
          const beside = await other.promise
          for (const [place, tab] of [...tabs.entries(), [drawn[0].tab, beside] as const]) {
            await eventually(async () => expect(await shown(tab), `${where}: “${intents[place]}”`).toEqual(expected[place]))
            expect(await tab.conversation(), where).toEqual(await readSession(tab.page, sessions[place] ?? ''))
          }
          await beside.page.close()
        }
        // Otherwise no kill interrupted any work.
        expect(disturbed).toBeGreaterThan(talks)
        const payments = await paymentKeys(demo.dataFolder)
        expect(payments).toHaveLength(talks + 1)
        expect(new Set(payments).size).toBe(talks + 1)
      }),
  )
})

/** Opens one tab per phrase. */
async function inTabs(
  visit: Stage['visit'],
  test: (tabs: readonly DemoPage[]) => Promise<void>,
  tabs: readonly DemoPage[] = [],
): Promise<void> {
  if (tabs.length === intents.length) return test(tabs)
  await visit((tab) => inTabs(visit, test, [...tabs, tab]), { killed: true, viewport: phone })
}

/** Sends each phrase in a new session of its tab. Returns the session ids. */
async function begin(tabs: readonly DemoPage[]): Promise<readonly string[]> {
  return Promise.all(
    tabs.map(async (tab, place) => {
      await tab.show('')
      await tab.say(intents[place] ?? '')
      await tab.page.waitForURL(/#\/s\//)
      return tab.sessionId
    }),
  )
}

async function shown(tab: DemoPage): Promise<readonly unknown[]> {
  return (await tab.conversation()).map(withoutId)
}

function withoutId(entry: Entry): unknown {
  return { ...entry, id: undefined }
}

/** Returns two kills of a round and the actions of tabs around them. The same seed gives the same result. */
function draw(talk: number) {
  const drawn = createHash('sha256').update(`${testSeed} ${talk}`).digest()
  const moment = (place: number): number => drawn.readUInt16BE(place) % longestDelayMs
  const death = (place: number) => ({
    killMs: moment(place),
    tabMs: moment(place + 2),
    tab: drawn.readUInt16BE(place + 4) % intents.length,
  })
  return [death(0), death(6)] as const
}
