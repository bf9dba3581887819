import { chromium } from 'playwright-core'
import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { chromiumOptions, isChromiumMissing, titleInBrowser } from '../../../../scripts/chromium.ts'
import { makeDataFolder, removeDataFolder, startDemo } from '../demo-process.ts'
import type { DemoEnv, DemoProcess } from '../demo-process.ts'
import { DemoPage } from './demo-page.ts'

export interface Stage {
  readonly demo: DemoProcess
  /** A tab in a browser of its own, with its own cookies. */
  open(address?: string): Promise<DemoPage>
  /** One more tab of the same browser. */
  openBeside(page: DemoPage, address?: string): Promise<DemoPage>
}

/** A test of what a page can do with a server of ours. Without a browser it is skipped, and says so. */
export function testInBrowser(name: string, test: (browser: Browser) => Promise<void>): void {
  it.skipIf(isChromiumMissing)(titleInBrowser(name), async () => {
    const browser = await chromium.launch(chromiumOptions)
    try {
      await test(browser)
    } finally {
      await browser.close()
    }
  })
}

/** A suite in a real browser against what `npm start` starts. Without a browser it is skipped, and says so. */
export function describeInBrowser(
  name: string,
  env: DemoEnv | (() => Promise<DemoEnv>),
  suite: (stage: () => Stage) => void,
): void {
  describe.skipIf(isChromiumMissing)(titleInBrowser(name), () => {
    let browser: Browser
    let demo: DemoProcess

    beforeAll(async () => {
      demo = await startDemo(await makeDataFolder(), typeof env === 'function' ? await env() : env)
      browser = await chromium.launch(chromiumOptions)
    })

    afterAll(async () => {
      await browser.close()
      await demo.stop()
      await removeDataFolder(demo.dataFolder)
    })

    const openIn = async (context: BrowserContext, address: string): Promise<DemoPage> =>
      DemoPage.open(await context.newPage(), address)
    suite(() => ({
      demo,
      async open(address = demo.url) {
        const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
        return openIn(context, address)
      },
      openBeside: (page, address = page.page.url()) => openIn(page.page.context(), address),
    }))
  })
}
