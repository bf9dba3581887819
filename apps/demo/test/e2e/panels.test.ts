import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import type { DemoPage } from './demo-page.ts'

/** Widths at which the page switches between four panels and between three. */
const widths = [390, 768]

describeInBrowser('a window of any width', ({ visit }) => {
  it.concurrent.each(widths)('D31: at %i px sessions, conversation and timeline are reached by keyboard, and nothing is cut off', (width) =>
    visit(
      async (tab) => {
        expect(
          await tab.page.getByRole('heading', { name: 'A run that holds.' }).evaluate((heading) => heading.getBoundingClientRect().top),
        ).toBeGreaterThan(0)
        await tab.say('what is the weather in Oslo and Lima')
        await tab.reaches('completed')
        expect(await sidewaysScroll(tab)).toBe(0)
        const title = `weather at ${width}`
        await show(tab, 'Sessions')
        await tab.page.getByRole('navigation', { name: 'Sessions' }).getByRole('button', { name: 'New', exact: true }).press('Enter')
        await tab.message.fill(`what is the ${title}`)
        await tab.page.keyboard.press('Enter')
        await tab.reaches('completed')
        await show(tab, 'Timeline')
        await tab.page
          .getByRole('region', { name: 'Timeline' })
          .getByRole('button', { name: /^Model call/ })
          .first()
          .waitFor()
        expect(await sidewaysScroll(tab)).toBe(0)
        await tab.page.reload()
        await show(tab, 'Sessions')
        await tab.page
          .getByRole('navigation', { name: 'Sessions' })
          .getByRole('button', { name: new RegExp(`^what is the ${title}`) })
          .press('Enter')
        await tab.main.getByText(title).waitFor()
        await tab.equalsServer()
      },
      { viewport: { width, height: 844 } },
    ),
  )
})

/** Shows a panel if it is hidden. */
async function show(tab: DemoPage, panel: string): Promise<void> {
  // A page that was just loaded may not be drawn yet.
  await tab.page.getByTestId('model').waitFor()
  const button = tab.page.getByRole('navigation', { name: 'Panels' }).getByRole('button', { name: panel })
  if (!(await button.isVisible())) return
  await button.press('Enter')
  expect(await button.getAttribute('aria-pressed')).toBe('true')
}

function sidewaysScroll(tab: DemoPage): Promise<number> {
  return tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
}
