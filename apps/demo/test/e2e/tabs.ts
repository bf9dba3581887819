import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

interface Tab {
  readonly context: BrowserContext
  readonly page: Page
}

/**
 * Tabs that tests have released, by their options. Opening a tab starts a process and compiles the whole page, which takes longer
 * than most tests.
 */
const left = new Map<string, Tab[]>()

export interface TabOptions extends Required<Pick<BrowserContextOptions, 'colorScheme' | 'deviceScaleFactor'>> {
  readonly viewport: { readonly width: number; readonly height: number }
  /** Time of the page when it opens, in ms since 1970, in UTC. */
  readonly now?: number | undefined
}

/** Calls `use` with a tab without cookies, storage, listeners and routes of other tests. If `use` fails, the tab is not reused. */
export async function lendTab(browser: Browser, options: TabOptions, fresh: boolean, use: (page: Page) => Promise<void>): Promise<void> {
  const key = JSON.stringify(options)
  const tab = (fresh ? undefined : left.get(key)?.pop()) ?? (await openTab(browser, options))
  try {
    await use(tab.page)
    if (fresh) return await tab.context.close()
    await clear(tab, options)
  } catch (error) {
    await tab.context.close()
    throw error
  }
  left.set(key, [...(left.get(key) ?? []), tab])
}

async function openTab(browser: Browser, { now, ...options }: TabOptions): Promise<Tab> {
  const context = await browser.newContext({ ...options, reducedMotion: 'reduce', ...(now !== undefined && { timezoneId: 'UTC' }) })
  // The time continues from there: a stopped clock would block waits for a frame.
  if (now !== undefined) await context.addInitScript(`const ahead = ${now} - Date.now(), real = Date.now; Date.now = () => real() + ahead`)
  return { context, page: await context.newPage() }
}

async function clear({ context, page }: Tab, { viewport, colorScheme }: TabOptions): Promise<void> {
  await Promise.all(context.pages().flatMap((other) => (other === page ? [] : other.close())))
  page.removeAllListeners()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.evaluate(() => {
    localStorage.clear()
    sessionStorage.clear()
  })
  await page.goto('about:blank')
  await context.clearCookies()
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(viewport)
}
