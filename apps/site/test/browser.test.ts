import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import type { ServerType } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import axe from 'axe-core'
import { Hono } from 'hono'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumOptions, isChromiumMissing, titleInBrowser } from '../../../scripts/chromium.ts'
import { sectionsOf } from '../../../scripts/pages.mjs'

const site = join(import.meta.dirname, '../dist')
/** The site must work in any folder of a host. */
const prefix = '/in/a/folder'
const desktop = { width: 1280, height: 800 }
const phone = { width: 360, height: 640 }
const decision = 'decisions/0070-the-documentation-is-a-vitepress-site-over-the-files'
const scanned = ['index', 'quick-start', decision]
const routes = sectionsOf().flatMap(({ pages }) => pages.map(({ route }) => route))
const withTables = routes.filter((route) => readFileSync(join(site, `${route}.html`), 'utf8').includes('<table'))

describe.skipIf(isChromiumMissing)(titleInBrowser('the built site'), () => {
  let server: ServerType
  let browser: Browser
  let address: string

  beforeAll(async () => {
    const app = new Hono().use(`${prefix}/*`, serveStatic({ root: site, rewriteRequestPath: (path) => path.slice(prefix.length) }))
    await new Promise<void>((resolve) => (server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () => resolve())))
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`
    browser = await chromium.launch(chromiumOptions)
  })
  afterAll(async () => {
    await browser.close()
    await new Promise((resolve) => server.close(resolve))
  })

  /** Opens a tab, and expects no requests to other hosts and a clean console. */
  async function visit(test: (page: Page) => Promise<void>, options: BrowserContextOptions = {}): Promise<void> {
    const context = await browser.newContext({ viewport: desktop, colorScheme: 'light', reducedMotion: 'reduce', ...options })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('request', (request) => {
      if (!request.url().startsWith(address) && !request.url().startsWith('data:')) complaints.push(`asks for ${request.url()}`)
    })
    try {
      await test(page)
      expect(complaints).toEqual([])
    } finally {
      await context.close()
    }
  }

  async function open(page: Page, route: string): Promise<void> {
    await page.goto(`${address}/${route}.html`, { waitUntil: 'networkidle' })
  }

  it('D47: a word is found without a service, and the result opens its page', () =>
    visit(async (page) => {
      await open(page, 'index')
      await page.getByRole('button', { name: 'Search' }).first().click()
      await page.getByRole('searchbox').fill('VitePress')
      await page.getByRole('option').filter({ hasText: '0070' }).first().click()
      await page.waitForURL(`${address}/${decision}.html*`)
      await page.getByRole('heading', { level: 1, name: '0070' }).waitFor()
    }))

  it('the API reference opens from any page', () =>
    visit(async (page) => {
      await open(page, 'packages/sessions')
      await page.getByRole('link', { name: 'API', exact: true }).first().click()
      await page.waitForURL(`${address}/api/index.html`)
      await page.getByRole('link', { name: '@bowline/sessions' }).first().waitFor()
    }))

  it.each(['light', 'dark'] as const)('axe finds nothing on three pages in %s', (colorScheme) =>
    visit(
      async (page) => {
        for (const route of scanned) {
          await open(page, route)
          expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(colorScheme === 'dark')
          // Only colours differ in the dark theme, and the list of pages is the same on every page.
          expect(
            await faults(page, {
              rules: colorScheme === 'light' ? [] : ['color-contrast'],
              besides: route === 'index' ? [] : ['.VPSidebar'],
            }),
            route,
          ).toEqual([])
        }
      },
      { colorScheme },
    ),
  )

  it('on a phone no page with a table scrolls sideways', () =>
    visit(
      async (page) => {
        expect(withTables).toContain('packages/sessions')
        for (const route of withTables) {
          await page.goto(`${address}/${route}.html`, { waitUntil: 'load' })
          expect(await page.evaluate(() => document.documentElement.scrollWidth), route).toBe(phone.width)
        }
      },
      // Scripts do not change the width, and take most of the time.
      { viewport: phone, javaScriptEnabled: false },
    ))
})

/**
 * Returns the violations that axe finds, one line each. `rules` limits it to these rules; `besides` selects parts that are ignored.
 */
async function faults(
  page: Page,
  { rules, besides }: { readonly rules: string[]; readonly besides: string[] },
): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(
    async ([values, exclude]) => {
      const { axe: own } = window as unknown as { axe: typeof axe }
      const { violations } = await own.run(
        { exclude },
        { resultTypes: ['violations'], ...(values.length > 0 && { runOnly: { type: 'rule', values } }) },
      )
      return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`))
    },
    [rules, besides] as const,
  )
}
