import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { freePort } from '../../src/supervisor/free-port.ts'
import { killAt } from '../disturbed.ts'
import { describeInBrowser, describeWithServer } from './browser.ts'
import { eventually } from './eventually.ts'

const minuteMs = 60_000
/** Maximum wait between two tries of the client. */
const longestWaitMs = 10_000

describeInBrowser('a server that is down', ({ visit }) => {
  it.concurrent('D24: while the page loads: it says that it waits, and loads its content when the server is back', () =>
    visit(
      async (tab) => {
        const { page } = tab
        await cut(page)
        await page.reload()
        await page.locator('[data-testid=connection][data-word=waiting]').waitFor()
        expect(await page.getByTestId('model').count()).toBe(0)
        await page.unrouteAll()
        await page.getByTestId('model').waitFor()
        await page.locator('[data-testid=connection][data-word=idle]').waitFor()
        await tab.say('tell me a story')
        await tab.reaches('completed')
        await tab.equalsServer()
      },
      { killed: true },
    ))

  it.concurrent('D24: while the page asks for the rights of its token: one 500 hides no action for good', () =>
    visit(async (tab) => {
      const { page } = tab
      await page.route('**/api/me', (route) => route.fulfill({ status: 500, contentType: 'application/problem+json', body: '{}' }), {
        times: 1,
      })
      await page.reload()
      await tab.say('tell me a story')
      await tab.reaches('completed')
      await page.getByRole('button', { name: 'Fork from here' }).waitFor()
      tab.complaints.splice(0)
    }))

  it.concurrent('D24: while the page loads the code for answers: they are plain text, and Markdown when the server is back', () =>
    visit(
      async (tab) => {
        const { page } = tab
        await page.route('**/assets/markdown-body*', (route) => route.abort('connectionrefused'))
        const refused = page.waitForEvent('requestfailed')
        await tab.say('tell me a story')
        await refused
        await tab.reaches('completed')
        await tab.main.getByText('The knot that remembered').waitFor()
        await page.unrouteAll()
        await page.locator('[data-testid=assistant] table').waitFor()
        await tab.equalsServer()
      },
      { killed: true, fresh: true },
    ))
})

describeWithServer('a server that is down for a minute', {}, (stage) => {
  it('D24: the page says that it waits, sends typed text when the server is back, and shows nothing twice', () =>
    stage().visit(
      async (tab) => {
        const { page } = tab
        const { demo, url } = stage()
        await tab.say('delete the report')
        await tab.reaches('waiting-for-user')
        await page.clock.install()
        // The server comes back at an address that the page does not use.
        const elsewhere = String(await freePort(0))
        demo.setEnv({ DEMO_PORT: elsewhere })
        await killAt(url)
        await eventually(async () => expect(demo.returns()).toBe(1))
        await page.clock.runFor(1000)
        await page.locator('[data-testid=connection][data-word=waiting]').waitFor()
        await tab.message.fill('tell me a story')
        await page.getByRole('button', { name: 'Interrupt', exact: true }).click()
        await page.clock.runFor(minuteMs)
        await page.locator('[data-testid=connection][data-word=waiting]').waitFor()
        expect(await page.getByRole('alert').count()).toBe(0)
        demo.setEnv({ DEMO_PORT: new URL(url).port })
        await killAt(`http://127.0.0.1:${elsewhere}`)
        await eventually(async () => expect(demo.returns()).toBe(2))
        await page.clock.runFor(longestWaitMs)
        await tab.main.getByText('The knot that remembered').waitFor()
        await tab.reaches('completed')
        await tab.equalsServer()
      },
      { killed: true, fresh: true },
    ))
})

/** Blocks all API requests of the page. Its files still load. */
async function cut(page: Page): Promise<void> {
  await page.route(/\/(api|studio)\//, (route) => route.abort('connectionrefused'))
}
