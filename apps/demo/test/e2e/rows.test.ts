import { afterEach, expect, it } from 'vitest'
import { phrases } from '../../src/phrases.ts'
import { describeInBrowser } from './browser.ts'
import type { DemoPage } from './demo-page.ts'

describeInBrowser('what the offline model understands', {}, (stage) => {
  let tab: DemoPage

  afterEach(async () => {
    expect(tab.complaints).toEqual([])
    await tab.page.context().close()
  })

  it('D38: "tell me a story" shows thoughts, a table and code', async () => {
    tab = await stage().open()
    await tab.say('tell me a story')
    await tab.reaches('completed')
    await tab.page.getByText('Thoughts').click()
    await tab.page.getByText('They want a story.').waitFor()
    expect(await tab.page.locator('[data-testid=assistant] table tr').count()).toBe(5)
    expect(await tab.page.locator('[data-testid=assistant] pre code').textContent()).toContain('await session.send')
    await tab.equalsServer()
  })

  it('D38: "what is the weather in Oslo and Lima" shows two cards and the comparison', async () => {
    tab = await stage().open()
    await tab.say('what is the weather in Oslo and Lima')
    await tab.reaches('completed')
    expect(await tab.tool('get_weather', 'result').count()).toBe(2)
    await tab.page.getByText('is warmer than Oslo by 25 degrees').waitFor()
    await tab.equalsServer()
  })

  it('D38: "index the docs" ends with the size of the index', async () => {
    tab = await stage().open()
    await tab.say('index the docs')
    await tab.reaches('completed')
    await tab.tool('index_docs', 'result').waitFor()
    await tab.page.getByText('18 documents').waitFor()
    await tab.equalsServer()
  })

  it('D38: "where am I" waits for the browser and goes on with its answer', async () => {
    tab = await stage().open()
    await tab.say('where am I')
    await tab.reaches('waiting-for-user')
    await tab.equalsServer()
    await tab.page.getByLabel('Place to share').selectOption('Pier 7, Old Harbour')
    await tab.page.getByRole('button', { name: 'Share this place' }).click()
    await tab.reaches('completed')
    await tab.page.getByText('Mind the tide.').waitFor()
    await tab.equalsServer()
  })

  it('D38: "pay the invoice" shows the receipt', async () => {
    tab = await stage().open()
    await tab.say('pay the invoice')
    await tab.reaches('completed')
    await tab.page.getByText('R-2041', { exact: true }).waitFor()
    await tab.equalsServer()
  })

  it('D6: anything else is answered with what can be asked, and every phrase is a chip', async () => {
    tab = await stage().open()
    await tab.say('what can you do?')
    await tab.reaches('completed')
    const chips = tab.page.getByRole('group', { name: 'Things to try' }).getByRole('button')
    expect(await chips.allTextContents()).toEqual(phrases.map(({ say }) => say))
    for (const { say } of phrases) await tab.page.locator('[data-testid=assistant]').getByText(say).waitFor()
    await tab.equalsServer()
  })

  it('D14: a place that is kept private is an answer too', async () => {
    tab = await stage().open()
    await tab.say('where am I')
    await tab.page.getByRole('button', { name: 'Keep it private' }).click()
    await tab.reaches('completed')
    await tab.tool('get_location', 'error').waitFor()
    await tab.page.getByText('keeps the place to itself').waitFor()
    await tab.equalsServer()
  })

  it('D8: the header names provider and model, and says offline as a word beside its icon', async () => {
    tab = await stage().open()
    const badge = tab.page.getByTestId('model')
    expect(await badge.textContent()).toBe('offline · bowline-offlineoffline')
    expect(await badge.locator('svg').count()).toBe(1)
  })

  it('D12: a tool card opens by keyboard and tells name, arguments and output', async () => {
    tab = await stage().open()
    await tab.say('index the docs')
    await tab.reaches('completed')
    const summary = tab.tool('index_docs', 'result').locator('summary')
    await summary.focus()
    await tab.page.keyboard.press('Enter')
    await tab.page.getByLabel('Arguments').getByText('"folder": "docs"').waitFor()
    await tab.page.getByLabel('Output').getByText('"files": 18').waitFor()
  })

  it('tells a message over the limit with its code, gives the text back, and the session stays usable', async () => {
    tab = await stage().open()
    await tab.say('hello')
    await tab.reaches('completed')
    const message = 'knot '.repeat(250_000)
    await tab.say(message)
    await tab.page.getByRole('alert').getByText('body-too-large').waitFor()
    await expect.poll(() => tab.page.getByRole('textbox', { name: 'Message', exact: true }).inputValue()).toBe(message)
    await tab.say('where am I')
    await tab.reaches('waiting-for-user')
    expect(await tab.page.getByRole('alert').count()).toBe(0)
    await tab.equalsServer()
    // The browser itself reports what the server refused.
    expect(tab.complaints.splice(0)).toEqual([expect.stringContaining('413')])
  })

  it('lists the sessions and goes from one to another by address', async () => {
    tab = await stage().open()
    await tab.say('tell me a story')
    await tab.reaches('completed')
    const first = tab.page.url()
    await tab.page.getByRole('button', { name: 'New' }).click()
    await tab.reaches('new')
    await tab.say('pay the invoice')
    await tab.reaches('completed')
    expect(tab.page.url()).not.toBe(first)
    await tab.page.getByRole('navigation', { name: 'Sessions' }).getByRole('button', { name: /tell me a story/ }).first().click()
    await tab.page.getByText('The knot that remembered').waitFor()
  })
})
