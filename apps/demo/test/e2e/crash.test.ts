import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import type { LogEvent } from './session-state.ts'

describeInBrowser('a server that is killed', { DEMO_SPEED: '1' }, (stage) => {
  it('D24: in the middle of a slow tool the run is taken up, and the finished tool does not run again', async () => {
    const tab = await stage().open()
    const words = await tab.recordConnection()
    await tab.say('what is the weather in Oslo and Lima')
    await tab.tool('get_weather', 'result').waitFor()
    await tab.tool('get_weather', 'running').waitFor()
    await tab.killServer()
    await tab.page.locator('[data-word=resumed]').waitFor()
    await tab.reaches('completed')

    expect((await words()).join(' ')).toMatch(/connected lost (waiting )?resumed/)
    await tab.page.getByTestId('gap').waitFor()
    const starts = (await tab.log()).filter((event) => event.type === 'tool-execution-start')
    expect(starts.filter(forCity('Oslo')).map((event) => event.attempt)).toEqual([1])
    expect(starts.filter(forCity('Lima')).map((event) => event.attempt)).toEqual([1, 2])
    expect(new Set(starts.filter(forCity('Lima')).map((event) => event.idempotencyKey)).size).toBe(1)
    await tab.page.getByText('is warmer than Oslo by 25 degrees').waitFor()
    await tab.equalsServer()
    expect(tab.complaintsBesidesLostConnections()).toEqual([])
  })

  it('D24: in the middle of an answer the answer is given anew and stands there once', async () => {
    const tab = await stage().open()
    await tab.say('tell me a story')
    await tab.page.locator('[data-open=true]').getByText('The knot that remembered').waitFor()
    await tab.killServer()
    await tab.reaches('completed')
    expect(await tab.page.getByTestId('assistant').count()).toBe(1)
    await tab.page.getByText('came loose with one pull').waitFor()
    await tab.equalsServer()
    expect(tab.complaintsBesidesLostConnections()).toEqual([])
  })

  it('D26: in the middle of a payment it says what is known, asks, and never pays twice', async () => {
    const tab = await stage().open()
    const payments = async (): Promise<number> =>
      (await readFile(join(stage().demo.dataFolder, 'receipts.jsonl'), 'utf8')).trim().split('\n').length
    await tab.say('pay the invoice')
    await tab.tool('pay_invoice', 'running').waitFor()
    await expect.poll(payments).toBe(1)
    await tab.killServer()
    await tab.reaches('needs-recovery')
    const card = tab.page.getByTestId('recovery')
    await card.getByText('the server died before it said how it ended').waitFor()
    for (const choice of ['It happened', 'It failed', 'Run it again', 'I do not know']) await card.getByText(choice).waitFor()
    await tab.equalsServer()
    await card.getByLabel('It happened: text for the model').fill('The bank shows the payment.')
    await card.getByRole('button', { name: 'Decide' }).click()
    await tab.reaches('completed')
    await tab.tool('pay_invoice', 'result').waitFor()
    expect(await payments()).toBe(1)
    await tab.equalsServer()

    await tab.say('pay the invoice')
    await tab.tool('pay_invoice', 'running').waitFor()
    await expect.poll(payments).toBe(2)
    await tab.killServer()
    await tab.reaches('needs-recovery')
    await tab.page.getByLabel('I do not know').check()
    await tab.page.getByRole('button', { name: 'Decide' }).click()
    await tab.reaches('completed')
    await tab.tool('pay_invoice', 'unknown').waitFor()
    await tab.page.getByText('I cannot say that invoice 2041 is paid').waitFor()
    expect(await payments()).toBe(2)
    await tab.equalsServer()
    expect(tab.complaintsBesidesLostConnections()).toEqual([])
  })

  it('D24: the kill can wait, and can be called off', async () => {
    const tab = await stage().open()
    await tab.page.getByRole('button', { name: 'Kill the server', exact: true }).click()
    await tab.page.getByLabel('When').selectOption('in 1 s')
    await tab.page.getByRole('button', { name: 'Let it live' }).click()
    const focused = await tab.page.evaluate(() => document.activeElement?.textContent)
    expect(focused).toBe('Kill the server')
    expect((await tab.page.request.get(new URL('/healthz', tab.page.url()).href)).status()).toBe(200)
  })
})

function forCity(city: string): (event: LogEvent) => boolean {
  return (event) => (event.input as { city?: string }).city === city
}
