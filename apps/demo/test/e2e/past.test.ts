import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import { eventually } from './eventually.ts'

describeInBrowser('time travel', ({ visit }) => {
  it.concurrent('D54: the past shows conversation, ledger and questions as of an event, and the page returns to the present', () =>
    visit(async (tab) => {
      await tab.say('what is the weather in Oslo and Lima')
      await tab.reaches('completed')
      await tab.say('where am I')
      await tab.reaches('waiting-for-user')
      const { page } = tab
      const log = await tab.log()
      const started = log.findIndex(({ type }) => type === 'tool-execution-start') + 1
      const slider = page.getByRole('slider', { name: 'Event' })
      await slider.fill(String(started))
      await page.getByTestId('past').getByText(`as of event ${started}`).waitFor()
      expect(await page.getByTestId('ledger').getByRole('listitem').count()).toBe(2)
      expect(await page.getByTestId('ledger').textContent()).toContain('started once')
      await page.getByRole('region', { name: 'Open questions' }).getByText('None.').waitFor()
      expect(await tab.main.textContent()).not.toContain('is warmer than')
      expect(await tab.message.count()).toBe(0)
      await page.keyboard.press(']')
      await page
        .getByTestId('past')
        .getByText(`as of event ${started + 1}`)
        .waitFor()
      await page.getByRole('button', { name: 'Jump' }).press('Enter')
      await page.getByRole('menuitem', { name: 'Next crash' }).waitFor()
      await page.getByRole('menuitem', { name: 'Next commit' }).click()
      await eventually(async () => expect(Number(await slider.inputValue())).toBeGreaterThan(started + 1))
      await page.keyboard.press('Escape')
      await tab.main.getByText('is warmer than').waitFor()
      await page.getByRole('region', { name: 'Open questions' }).getByText('Result of Get location').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D55: an event is shown in full with its commit, its claim and its process, and the call with the request to the model', () =>
    visit(async (tab) => {
      await tab.say('what is the weather in Oslo and Lima')
      await tab.reaches('completed')
      const { page } = tab
      await page
        .getByRole('button', { name: /^Model call/ })
        .last()
        .click()
      await page.getByRole('tab', { name: 'Event' }).click()
      await page.getByLabel('Event', { exact: true }).getByText('"type": "message-start"').waitFor()
      expect(await page.getByTestId('event-epoch').textContent()).toContain('1')
      expect(await page.getByTestId('event-owner').textContent()).not.toBe('')
      await page.getByRole('tab', { name: 'Request' }).click()
      const request = page.getByTestId('request')
      await request.getByText('2 messages as in the call before').waitFor()
      await request.getByText('light snow').waitFor()
      await request.getByText('get_weather', { exact: true }).first().waitFor()
      await request.getByRole('button', { name: 'Side by side' }).click()
      await page.getByRole('dialog').getByText('The call before').waitFor()
    }))

  it.concurrent('D56, D19: a fork begins at the shown event, runs nothing again, and appears in the tree', () =>
    visit(async (tab) => {
      const { page } = tab
      await tab.say('where am I')
      await page.getByRole('button', { name: 'Share this place' }).click()
      await tab.reaches('completed')
      const first = await tab.conversation()
      const settled = (await tab.log()).length
      await tab.say('pay the invoice')
      await tab.main.getByText('R-2041', { exact: true }).waitFor()
      await tab.reaches('completed')
      const source = tab.sessionId
      await page.getByRole('slider', { name: 'Event' }).fill(String(settled))
      await page.getByRole('button', { name: 'Fork from here' }).click()
      await eventually(async () => expect(tab.sessionId).not.toBe(source))
      await eventually(async () => expect(await tab.conversation()).toEqual(first))
      await tab.say('tell me a story')
      await tab.main.getByText('The knot that remembered').waitFor()
      await tab.reaches('completed')
      await tab.equalsServer()
      expect((await tab.log()).filter(({ type }) => type.startsWith('tool-'))).toEqual([])
      await page.getByRole('tab', { name: 'Branches' }).click()
      await page.getByTestId('branch').first().waitFor()
    }))

  it.concurrent('D29: commands are found by typing, the keys are listed, and the focus returns', () =>
    visit(async (tab) => {
      const { page } = tab
      await page.getByRole('button', { name: 'Commands' }).press('Enter')
      await page.getByPlaceholder('What would you like to do?').waitFor()
      await page.keyboard.press('Escape')
      await eventually(async () => expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Commands'))
      await page.keyboard.press('Enter')
      await page.getByPlaceholder('What would you like to do?').fill('keys')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog', { name: 'Keys' }).waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+k')
      await page.getByPlaceholder('What would you like to do?').fill('tell me a story')
      await page.keyboard.press('Enter')
      await tab.main.getByText('The knot that remembered').waitFor()
      await tab.reaches('completed')
    }))

  it.concurrent('D28: the colours follow the setting of the reader, over a reload', () =>
    visit(async (tab) => {
      const scheme = (): Promise<string> => tab.page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)
      await tab.page.getByRole('button', { name: 'Colours: system' }).click()
      await tab.page.getByRole('button', { name: 'Colours: light' }).click()
      expect(await scheme()).toBe('dark')
      await tab.page.reload()
      await tab.page.getByRole('button', { name: 'Colours: dark' }).waitFor()
      expect(await scheme()).toBe('dark')
    }))

  it.concurrent('a session is found by its title and deleted after a confirmation', () =>
    visit(async (tab) => {
      await tab.say('a knot of its own')
      await tab.reaches('completed')
      const list = tab.page.getByRole('navigation', { name: 'Sessions' })
      const row = list.getByRole('button', { name: /^a knot of its own/ })
      await row.waitFor()
      await list.getByRole('button', { name: 'Delete a knot of its own' }).press('Enter')
      await tab.page.getByRole('button', { name: 'Delete it' }).click()
      await row.waitFor({ state: 'detached' })
      await tab.reaches('new')
    }))
})
