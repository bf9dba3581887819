import { expect, it } from 'vitest'
import { phrases } from '../../src/phrases.ts'
import { describeInBrowser } from './browser.ts'
import { eventually } from './eventually.ts'

describeInBrowser('what the offline model understands', ({ visit }) => {
  it.concurrent('D38: "tell me a story" shows thoughts, a table and code', () =>
    visit(async (tab) => {
      await tab.say('tell me a story')
      await tab.reaches('completed')
      await tab.main.getByText('Thoughts').click()
      await tab.main.getByText('They want a story.').waitFor()
      await tab.page.locator('[data-testid=assistant] table').waitFor()
      expect(await tab.page.locator('[data-testid=assistant] table tr').count()).toBe(5)
      expect(await tab.page.locator('[data-testid=assistant] pre code').textContent()).toContain('await session.send')
      await tab.equalsServer()
    }))

  it.concurrent('D38: "what is the weather in Oslo and Lima" shows two cards and the comparison', () =>
    visit(async (tab) => {
      await tab.say('what is the weather in Oslo and Lima')
      await tab.reaches('completed')
      expect(await tab.tool('get_weather', 'result').count()).toBe(2)
      await tab.main.getByText('is warmer than Oslo by 25 degrees').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D38, D12: "index the docs" ends with the size of the index; its card opens by keyboard', () =>
    visit(async (tab) => {
      await tab.say('index the docs')
      await tab.reaches('completed')
      await tab.main.getByText('18 documents').waitFor()
      await tab.tool('index_docs', 'result').locator('summary').focus()
      await tab.page.keyboard.press('Enter')
      await tab.page.getByLabel('Arguments').getByText('"folder": "docs"').waitFor()
      await tab.page.getByLabel('Output').getByText('"files": 18').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D38: "where am I" waits for the browser and continues with its answer', () =>
    visit(async (tab) => {
      await tab.say('where am I')
      await tab.reaches('waiting-for-user')
      await tab.equalsServer()
      await tab.page.getByLabel('Place to share').selectOption('Pier 7, Old Harbour')
      await tab.page.getByRole('button', { name: 'Share this place' }).click()
      await tab.reaches('completed')
      await tab.main.getByText('Mind the tide.').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D38: "pay the invoice" shows the receipt', () =>
    visit(async (tab) => {
      await tab.say('pay the invoice')
      await tab.reaches('completed')
      await tab.main.getByText('R-2041', { exact: true }).waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D38, D15: "delete the report" is approved by key with other arguments, which the schema checks', () =>
    visit(async (tab) => {
      await tab.say('delete the report')
      await tab.reaches('waiting-for-user')
      await tab.equalsServer()
      const card = tab.page.getByTestId('approval')
      await card.getByText('"report": "q3-draft"').waitFor()
      await card.getByRole('button', { name: 'Edit the arguments' }).click()
      const field = card.getByRole('textbox', { name: 'Arguments' })
      await field.fill('{ "report": ')
      await card.getByText('This is no JSON').waitFor()
      expect(await card.getByRole('button', { name: /^Approve/ }).isDisabled()).toBe(true)
      await field.fill('{ "report": "q1-final", "forever": false }')
      await card.getByRole('button', { name: 'Approve with these' }).click()
      await tab.reaches('completed')
      await tab.main.getByText('q1-final').first().waitFor()
      await tab.equalsServer()
    }))

  it.concurrent("D15: the key D denies the agent's question, but not while the focus is in a field", () =>
    visit(async (tab) => {
      await tab.say('delete the report')
      await tab.reaches('waiting-for-user')
      await tab.message.press('d')
      expect(await tab.message.inputValue()).toBe('d')
      await tab.message.fill('')
      await tab.page.getByRole('tab', { name: 'State' }).focus()
      await tab.page.keyboard.press('d')
      await tab.reaches('completed')
      await tab.tool('delete_report', 'denied').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D15: a message typed instead of a decision interrupts the run', () =>
    visit(async (tab) => {
      await tab.say('delete the report')
      await tab.reaches('waiting-for-user')
      await tab.message.fill('tell me a story')
      await tab.page.getByRole('button', { name: 'Interrupt', exact: true }).click()
      await tab.main.getByText('The knot that remembered').waitFor()
      await tab.reaches('completed')
      expect(await tab.page.getByTestId('approval').count()).toBe(0)
      await tab.equalsServer()
    }))

  it.concurrent('D38, D16: "research knots" has a card for its child, whose conversation opens and reports its findings', () =>
    visit(async (tab) => {
      await tab.say('research knots')
      await tab.main.getByText('The researcher is back.').waitFor()
      await tab.reaches('completed')
      await tab.equalsServer()
      const child = tab.page.getByTestId('child-card')
      expect(await child.getAttribute('data-status')).toBe('completed')
      await tab.main.getByText('Background work of researcher is completed.').waitFor()
      const parent = tab.sessionId
      await child.getByRole('button', { name: 'Open its conversation' }).click()
      await tab.tool('search_library', 'result').waitFor()
      expect(tab.sessionId).toMatch(new RegExp(`^${parent}~researcher~`))
      await tab.equalsServer()
    }))

  it.concurrent('D38: "ask the worker" shows the agent that got the work, and its answer', () =>
    visit(async (tab) => {
      await tab.say('ask the worker')
      await tab.main.getByText('The worker says:').waitFor()
      await tab.reaches('completed')
      await tab.page.getByTestId('child-card').getByText('needs about 72 cm').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D38, D21: "make a plan" shows its steps as a track, with the tools of the active step', () =>
    visit(async (tab) => {
      await tab.say('make a plan')
      await tab.main.getByText('cast off at high water').first().waitFor()
      await tab.reaches('completed')
      const plan = tab.page.getByTestId('plan')
      const steps = await plan.getByRole('listitem').allTextContents()
      expect(steps.filter((step) => step !== '').slice(0, 4)).toEqual(['look', 'write', 'review', 'free'])
      expect(await plan.locator('[aria-current=step]').allTextContents()).toEqual(['free'])
      await plan.getByText('plan_start').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D38, D20: "long talk" ends with a compaction that can be expanded, and the messages before it stay', () =>
    visit(async (tab) => {
      await tab.say('long talk')
      const note = tab.page.getByTestId('compaction')
      await note.getByText(/^[\d,]+ → [\d,]+ tokens$/).waitFor()
      await note.locator('summary').press('Enter')
      await note.getByText('The model is shown this summary').waitFor()
      expect(await tab.tool('read_logbook', 'result').count()).toBe(3)
      await tab.equalsServer()
    }))

  it.concurrent('D38, D22: "fail" shows two retries and the fallback model; the cost of discarded attempts is an estimate', () =>
    visit(async (tab) => {
      await tab.say('fail')
      await tab.reaches('completed')
      expect(await tab.page.getByTestId('retries').getByRole('listitem').count()).toBe(3)
      await tab.main.getByText('spare model').waitFor()
      expect(await tab.page.getByTestId('spent-run').textContent()).toContain('~$')
      expect(await tab.page.getByTestId('session-spending').textContent()).toContain('made-up prices')
      await tab.equalsServer()
    }))

  it.concurrent('D38: "be slow" answers in the end', () =>
    visit(async (tab) => {
      await tab.say('be slow')
      await tab.main.getByText('I take my time').waitFor()
      await tab.reaches('completed')
      await tab.equalsServer()
    }))

  it.concurrent('D6, D8: any other text is answered with the list of known phrases; every phrase is a chip; the header says offline', () =>
    visit(async (tab) => {
      const badge = tab.page.getByTestId('model')
      expect(await badge.textContent()).toBe('Offline model, no key needed')
      expect(await badge.locator('svg').count()).toBe(1)
      await tab.say('what can you do?')
      await tab.reaches('completed')
      const chips = tab.page.getByRole('group', { name: 'Things to try' }).getByRole('button')
      expect(await chips.allTextContents()).toEqual(phrases.map(({ say }) => say))
      for (const { say } of phrases) await tab.page.locator('[data-testid=assistant]').getByText(say).waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('D14: refusing to share the location is an answer too', () =>
    visit(async (tab) => {
      await tab.say('where am I')
      await tab.page.getByRole('button', { name: 'Keep it private' }).click()
      await tab.reaches('completed')
      await tab.tool('get_location', 'error').waitFor()
      await tab.main.getByText('keeps the place to itself').waitFor()
      await tab.equalsServer()
    }))

  it.concurrent('reports a message over the limit with its code, gives the text back, and the session stays usable', () =>
    visit(async (tab) => {
      await tab.say('hello')
      await tab.reaches('completed')
      const message = 'knot '.repeat(250_000)
      await tab.say(message)
      await tab.page.getByRole('alert').getByText('body-too-large').waitFor()
      await eventually(async () => expect(await tab.message.inputValue()).toBe(message))
      await tab.say('where am I')
      await tab.reaches('waiting-for-user')
      expect(await tab.page.getByRole('alert').count()).toBe(0)
      await tab.equalsServer()
      // The browser itself reports the refusal of the server.
      expect(tab.complaints.splice(0)).toEqual([expect.stringContaining('413')])
    }))

  it.concurrent('lists the sessions and switches between them by address, and back to the first page', () =>
    visit(async (tab) => {
      await tab.say('tell me a story')
      await tab.reaches('completed')
      const first = tab.page.url()
      await tab.page.goBack()
      await tab.reaches('new')
      await tab.page.goForward()
      await tab.reaches('completed')
      await tab.page.getByRole('button', { name: 'New', exact: true }).click()
      await tab.reaches('new')
      await tab.say('pay the invoice')
      await tab.reaches('completed')
      expect(tab.page.url()).not.toBe(first)
      await tab.page
        .getByRole('navigation', { name: 'Sessions' })
        .getByRole('button', { name: /tell me a story/ })
        .first()
        .click()
      await tab.main.getByText('The knot that remembered').waitFor()
    }))

  it.concurrent('D34: the first load is at most 250 kB over the wire', () =>
    visit(
      async (tab) => {
        const sizes = await tab.page.evaluate(() =>
          (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
            .filter(({ name }) => name.includes('/assets/'))
            .map(({ encodedBodySize }) => encodedBodySize),
        )
        expect(sizes.length).toBeGreaterThan(1)
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(250_000)
      },
      { fresh: true },
    ))

  it.concurrent('D24: the kill can be delayed, and cancelled', () =>
    visit(async (tab) => {
      await tab.page.getByRole('button', { name: 'Kill the server', exact: true }).click()
      await tab.page.getByLabel('When').selectOption('in 1 s')
      await tab.page.getByRole('button', { name: 'Let it live' }).click()
      // The dialog returns the focus after it has closed.
      await eventually(async () => expect(await tab.page.evaluate(() => document.activeElement?.textContent)).toBe('Kill the server'))
      expect(await tab.page.evaluate(async () => (await fetch('/healthz')).status)).toBe(200)
    }))
})
