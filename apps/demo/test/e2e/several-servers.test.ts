import { afterAll, expect, it } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { describeWithServer } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { startHeldModel } from './held-model.ts'
import type { HeldModel } from './held-model.ts'

const phone = { width: 390, height: 844 }
const database = testDatabase()
let model: HeldModel

async function heldModelOnPostgres() {
  model = await startHeldModel()
  return { DEMO_BASE_URL: model.url, DEMO_MODEL: 'held', DEMO_STORE: database.url }
}

/** Returns the name of the server that runs the session, as soon as the page shows it. */
async function ownerShown(tab: DemoPage, names = 'AB'): Promise<string> {
  const owners = [...names].map((name) => `[data-testid=server-${name}][data-state=owner]`)
  const text = await tab.page.locator(owners.join()).textContent()
  return /^Server (\w)runs this session/.exec(text ?? '')?.[1] ?? ''
}

describeWithServer('a page with two servers', heldModelOnPostgres, (stage) => {
  afterAll(() => model.close())

  it('D24: when the server that runs the session is killed in the middle of an answer, the other one gives the answer, once, and the page stays', () =>
    stage().visit(
      async (tab) => {
        const { page } = tab
        await page.evaluate(() => Object.assign(window, { stays: true }))
        await page.getByRole('button', { name: 'Kill a server', exact: true }).waitFor()
        await tab.say('hold the line')
        // A run has an owner before its answer begins.
        await tab.open('The first half')
        const owner = await ownerShown(tab)
        const other = owner === 'A' ? 'B' : 'A'
        await tab.killServer(`Kill server ${owner}`)
        await page.locator(`[data-testid=server-${owner}][data-state=down]`).waitFor()
        expect(await ownerShown(tab, other)).toBe(other)
        expect(await tab.faults()).toEqual([])
        await page.locator(`[data-testid=server-${owner}][data-state=up]`).waitFor()
        await tab.reaches('running')
        model.release('hold the line')
        await tab.reaches('completed')
        await tab.main.getByText('and the second half').waitFor()
        expect(await page.getByTestId('assistant').count()).toBe(1)
        await page.getByTestId('gap').first().waitFor()
        await page.getByTestId('crash').getByText(`server ${other} took the run up`).waitFor()
        await page.getByRole('button', { name: 'Kill a server', exact: true }).waitFor()
        expect(await page.evaluate(() => 'stays' in window)).toBe(true)
        const types = (await tab.log()).map(({ type }) => type)
        expect(types.filter((type) => ['message-start', 'message-discarded', 'message-end'].includes(type))).toEqual([
          'message-start',
          'message-discarded',
          'message-start',
          'message-end',
        ])
        await tab.equalsServer()
      },
      { killed: true },
    ))

  it('D31, D41: names both on a phone in the dark, and nothing is cut off', () =>
    stage().visit(
      async (tab) => {
        await tab.say('hold the phone')
        await ownerShown(tab)
        expect(await tab.faults()).toEqual([])
        expect(await tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBe(0)
        model.release('hold the phone')
        await tab.reaches('completed')
      },
      { viewport: phone, colorScheme: 'dark' },
    ))
})
