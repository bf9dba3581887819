import { chromium } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { chromiumOptions, isChromiumMissing, titleInBrowser } from '../../scripts/chromium.ts'
import { start } from './start.ts'

it.skipIf(isChromiumMissing)(titleInBrowser('browser-tools: the page runs the tool that the agent asks for'), async () => {
  const url = await start('browser-tools/main.ts', { env: { PORT: '0' } }).printed(/http:\/\/127\.0\.0\.1:\d+/)
  const browser = await chromium.launch(chromiumOptions)
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  await page.goto(url)
  await page.click('button')
  await page.waitForFunction("document.querySelector('pre').textContent.endsWith('completed')")
  expect(await page.textContent('pre')).toBe('[page_title: answered by this page]\nYou see the page "My harbour".\ncompleted')
  expect(faults).toEqual([])
})
