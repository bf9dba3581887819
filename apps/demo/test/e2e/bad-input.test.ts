import { expect, it } from 'vitest'
import { describeRecorded, stageAt } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { eventually } from './eventually.ts'
import { streamDelayMs } from './recorded/hostile.ts'

/** Returns a function that reports whether a script ran, and all requests to other hosts. */
async function watch(tab: DemoPage): Promise<() => Promise<readonly unknown[]>> {
  const { page } = tab
  const own = new URL(page.url()).origin
  const strange: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(own) && !request.url().startsWith('data:')) strange.push(request.url())
  })
  page.on('dialog', (dialog) => void strange.push(dialog.message()))
  page.on('framenavigated', (frame) => void (frame.url().startsWith(own) || strange.push(frame.url())))
  return async () => [
    ...strange,
    ...(await page.evaluate(() => ('ran' in window ? [window.ran] : []))),
    ...(page.context().pages().length > 1 ? ['a window'] : []),
  ]
}

describeRecorded('bad input', (recording) => {
  const visit = (test: (tab: DemoPage) => Promise<void>): Promise<void> => stageAt(recording().url).visit(test, { now: recording().now })

  it('D11: HTML and scripts of users, models, tools and titles neither run nor load anything', () =>
    visit(async (tab) => {
      const { page } = tab
      const harm = await watch(tab)
      await tab.show('hostile')
      await tab.main.getByText('The end of it.').waitFor()
      expect(await page.getByTestId('user').textContent()).toContain('<script>window.ran')
      await page.getByRole('navigation', { name: 'Sessions' }).getByText('<script>window.ran').waitFor()
      await page
        .locator('[data-testid=conversation] summary')
        .evaluateAll((summaries: HTMLElement[]) => summaries.forEach((summary) => summary.click()))
      await tab.main.getByLabel('Output').getByText('<iframe').first().waitFor()
      for (const name of ['Event', 'Branches']) {
        await page.getByRole('tab', { name }).click()
        await tab.rests()
      }
      const harmful =
        'script, iframe, video, object, embed, form[action], style, link, meta, base, [onerror], [onload], [onclick], [onfocus], [onmouseover], [style*=fixed], [href^="javascript:" i], [href^="data:" i]'
      expect(await tab.main.locator(harmful).evaluateAll((found) => found.map(({ outerHTML }) => outerHTML))).toEqual([])
      expect(await page.locator('img').evaluateAll((images: HTMLImageElement[]) => images.map(({ src }) => new URL(src).pathname))).toEqual(
        ['/knot.svg'],
      )
      const links = await tab.main
        .locator('a[href]')
        .evaluateAll((found: HTMLAnchorElement[]) => found.map(({ href, rel, target }) => ({ href, rel, target })))
      expect(links.map(({ href }) => href)).toContain('https://example.org/page')
      for (const { rel, target } of links) expect([rel, target]).toEqual(['noopener noreferrer', '_blank'])
      for (const text of ['script link', 'data link', 'raw link']) await tab.main.getByText(text).last().click()
      expect(await harm()).toEqual([])
    }))

  it('D11: incomplete tags, links and Markdown marks are never shown while they are written', () =>
    visit(async (tab) => {
      const harm = await watch(tab)
      await tab.show('pieces')
      const { world } = recording()
      const answer = tab.main.getByTestId('assistant')
      const seen: string[] = []
      while ((await tab.main.getAttribute('data-status')) === 'running' && seen.length < 200) {
        await world.pass(streamDelayMs)
        await tab.frame()
        seen.push((await answer.locator('.markdown').first().innerText()).trim())
      }
      await tab.reaches('completed')
      expect(new Set(seen).size).toBeGreaterThan(10)
      for (const text of seen) expect(text).not.toMatch(/<(?!\/?(script|img|b)\b[^>]*>)\/?\w|\*\*|\]\(|onerror|window\.ran/)
      await tab.main.getByText('the end.').waitFor()
      expect(await harm()).toEqual([])
    }))

  it('unknown events and parts of messages are left out, and all others shown', () =>
    visit(async (tab) => {
      await tab.show('unknown')
      await tab.main.getByText('A known part beside it.').waitFor()
      await tab.main.getByText('The knot that remembered').waitFor()
      await tab.equalsServer()
      const known = (await tab.log()).filter(({ type }) => !['tide-turned', 'wind-changed'].includes(type))
      await eventually(async () =>
        expect(await tab.page.getByTestId('shown-event').textContent()).toContain(`${known.length} of ${known.length}`),
      )
      await tab.page.getByRole('slider', { name: 'Event' }).fill('7')
      await tab.page.getByTestId('past').waitFor()
    }))

  it('D54: events after a change of branch are in the timeline and the past, also after a reload', () =>
    visit(async (tab) => {
      await tab.show('branches')
      await tab.equalsServer()
      const count = (await tab.log()).length
      await eventually(async () => expect(await tab.page.getByTestId('shown-event').textContent()).toContain(`${count} of ${count}`))
    }))

  it('a message of a megabyte is shown, and the page stays usable', () =>
    visit(async (tab) => {
      await tab.show('huge')
      await tab.main.getByText('Of one megabyte.').waitFor()
      expect((await tab.main.textContent())?.length).toBeGreaterThan(1_000_000)
      await tab.message.fill('still here')
      expect(await tab.message.inputValue()).toBe('still here')
      await tab.show('place')
      await tab.page.getByRole('button', { name: 'Share this place' }).waitFor()
    }))

  it('D33: a panel that throws shows an error with “Try again”, the others stay, and “Try again” draws it', () =>
    visit(async (tab) => {
      const { page } = tab
      await tab.show('story')
      await page.evaluate(() => {
        const { prototype } = Intl.DateTimeFormat
        const format = Object.getOwnPropertyDescriptor(prototype, 'format') ?? {}
        Object.defineProperty(prototype, 'format', {
          configurable: true,
          get() {
            throw new Error('No times today.')
          },
        })
        Object.assign(window, { mend: () => void Object.defineProperty(prototype, 'format', format) })
      })
      await page
        .getByRole('navigation', { name: 'Sessions' })
        .getByRole('button', { name: /^make a plan/ })
        .click()
      const alert = page.getByRole('alert').filter({ hasText: 'could not be drawn' })
      for (const name of ['sessions', 'timeline']) await alert.getByText(`The ${name} could not be drawn.`).waitFor()
      expect(await alert.getByText('No times today.').count()).toBe(2)
      await tab.main.getByText('What do tide and crew allow?').waitFor()
      await page.getByTestId('spent-session').getByText('$0.0').waitFor()
      await alert.first().getByRole('button', { name: 'Try again' }).click()
      expect(await alert.count()).toBe(2)
      await page.evaluate(() => (window as unknown as { mend: () => void }).mend())
      for (const name of ['sessions', 'timeline']) await alert.filter({ hasText: name }).getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('navigation', { name: 'Sessions' }).getByText('make a plan').waitFor()
      await page
        .getByRole('region', { name: 'Timeline' })
        .getByText(/events in/)
        .waitFor()
      expect(await alert.count()).toBe(0)
      expect(tab.complaints.splice(0).join()).toContain('No times today.')
    }))

  it('D33: an error outside the panels does not leave an empty page, and “Try again” draws it anew', () =>
    visit(async (tab) => {
      const { page } = tab
      await tab.show('story')
      await page.evaluate(() => {
        const { setItem } = Storage.prototype
        Storage.prototype.setItem = () => {
          throw new Error('No storage today.')
        }
        Object.assign(window, { mend: () => void (Storage.prototype.setItem = setItem) })
      })
      await page.getByRole('button', { name: /^Colours/ }).click()
      const alert = page.getByRole('alert').filter({ hasText: 'The page could not be drawn.' })
      await alert.getByText('No storage today.').waitFor()
      await page.evaluate(() => (window as unknown as { mend: () => void }).mend())
      await alert.getByRole('button', { name: 'Try again' }).click()
      await tab.main.getByText('The knot that remembered').waitFor()
      expect(await alert.count()).toBe(0)
      expect(tab.complaints.splice(0).join()).toContain('No storage today.')
    }))

  it('a token that expires: the page says what to do, and works again after a reload', () =>
    visit(async (tab) => {
      await tab.show('story')
      recording().expireToken()
      await tab.say('hello')
      const alert = tab.page.getByRole('alert').filter({ hasText: 'unauthenticated' })
      await alert.getByText('The token of this page is not valid any more. Reload the page').waitFor()
      await eventually(async () => expect(await tab.message.inputValue()).toBe('hello'))
      expect(tab.complaints.splice(0).join()).toContain('401')
      await tab.page.reload()
      await tab.main.getByText('The knot that remembered').waitFor()
      expect(await alert.count()).toBe(0)
    }))

  it.each([
    ['no key', 401, 'unauthenticated', 'The token of this page is not valid any more.'],
    ['a key that may not', 403, 'scope-missing', 'The token of this page may not'],
  ] as const)('%s: the page opens and says what to do', (_, status, code, advice) =>
    visit(async (tab) => {
      const { page } = tab
      await page.route('**/api/**', (route) =>
        route.fulfill({
          status,
          contentType: 'application/problem+json',
          body: JSON.stringify({ type: 'about:blank', title: 'Refused', status, code, detail: 'Refused for a test.' }),
        }),
      )
      await page.goto(recording().at('story'))
      await page.reload()
      await page.getByRole('alert').getByText(advice).waitFor()
      expect(await tab.faults()).toEqual([])
      expect(tab.complaints.splice(0).join()).toContain(String(status))
    }),
  )
})
