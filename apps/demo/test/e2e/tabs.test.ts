import { expect, it } from 'vitest'
import { describeInBrowser } from './browser.ts'
import { readRunStatus, readSession } from './session-state.ts'

describeInBrowser('tabs that come and go', { DEMO_SPEED: '0.6' }, (stage) => {
  it('D27: a tab closed in the middle of an answer and opened again shows all of it, and nothing twice', async () => {
    const tab = await stage().open()
    await tab.say('tell me a story')
    await tab.page.locator('[data-open=true]').getByText('The knot that remembered').waitFor()
    const { sessionId } = tab
    const empty = await stage().openBeside(tab, stage().demo.url)
    const address = tab.page.url()
    await tab.page.close()
    expect(await readRunStatus(empty.page, sessionId)).toBe('running')
    const again = await stage().openBeside(empty, address)
    await again.reaches('completed')
    await again.page.getByText('came loose with one pull').waitFor()
    expect(await again.page.getByTestId('assistant').count()).toBe(1)
    await again.equalsServer()
    expect(again.complaints).toEqual([])
  })

  it('D27: a reload in the middle of an answer goes on where the answer is', async () => {
    const tab = await stage().open()
    await tab.say('tell me a story')
    await tab.page.locator('[data-open=true]').getByText('The knot that remembered').waitFor()
    await tab.page.reload()
    await tab.page.locator('[data-open=true]').getByText('The knot that remembered').waitFor()
    await tab.reaches('completed')
    await tab.equalsServer()
    expect(tab.complaints).toEqual([])
  })

  it('D27: two tabs show the same while one of them works', async () => {
    const one = await stage().open()
    await one.say('what is the weather in Oslo and Lima')
    await one.tool('get_weather', 'running').first().waitFor()
    const other = await stage().openBeside(one)
    await Promise.all([one.reaches('completed'), other.reaches('completed')])
    expect(await other.conversation()).toEqual(await one.conversation())
    await other.say('tell me a story')
    await one.page.locator('[data-open=true]').waitFor()
    await Promise.all([one.reaches('completed'), other.reaches('completed')])
    const stored = await readSession(one.page, one.sessionId)
    await expect.poll(() => one.conversation()).toEqual(stored)
    await expect.poll(() => other.conversation()).toEqual(stored)
    expect([...one.complaints, ...other.complaints]).toEqual([])
  })

  it('D14: a reload keeps the remote call pending, and of two tabs one answers for both', async () => {
    const one = await stage().open()
    await one.say('where am I')
    await one.reaches('waiting-for-user')
    await one.page.reload()
    await one.page.getByRole('button', { name: 'Share this place' }).waitFor()
    const other = await stage().openBeside(one)
    await other.page.getByRole('button', { name: 'Share this place' }).click()
    await Promise.all([one.reaches('completed'), other.reaches('completed')])
    await one.page.getByText('Mind the tide.').waitFor()
    expect(await one.page.getByRole('button', { name: 'Share this place' }).count()).toBe(0)
    await one.equalsServer()
    await other.equalsServer()
    expect([...one.complaints, ...other.complaints]).toEqual([])
  })

  it('D18: stop answers within 200 ms on screen and shows what became of each call', async () => {
    const tab = await stage().open()
    await tab.say('what is the weather in Oslo and Lima')
    await tab.tool('get_weather', 'running').first().waitFor()
    await tab.reaches('completed')
    await tab.say('index the docs')
    await tab.page.getByRole('progressbar').waitFor()
    const tookMs = await tab.page.getByRole('button', { name: 'Stop', exact: true }).evaluate(async (button: HTMLElement) => {
      const stoppedAt = performance.now()
      button.click()
      await new Promise<void>((resolve) => {
        const observer = new MutationObserver(() => {
          if (!document.querySelector('[data-testid=receipt]')) return
          observer.disconnect()
          resolve()
        })
        setTimeout(resolve, 5000)
        observer.observe(document.body, { childList: true, subtree: true })
      })
      return performance.now() - stoppedAt
    })
    expect(tookMs).toBeLessThan(200)
    expect(await tab.page.getByTestId('receipt').textContent()).toBe('Stopped.index_docs: error')
    await tab.reaches('stopped')
    await tab.equalsServer()
    expect(await tab.page.getByTestId('receipt').textContent()).toBe('Stopped.index_docs: error')
    await tab.say('where am I')
    await tab.reaches('waiting-for-user')
    expect(tab.complaints).toEqual([])
  })
})
