import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { ConsoleMessage, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import { readLog, readSession } from './session-state.ts'
import type { Entry, LogEvent } from './session-state.ts'

/** Longer than a page waits before it colours code or asks for more of a log. */
const quietMs = 180

/** One tab of the demo, in the words of a reader. */
export class DemoPage {
  readonly page: Page
  /** Errors and warnings of the console, and uncaught exceptions. */
  readonly complaints: string[] = []

  private constructor(page: Page) {
    this.page = page
    page.on('console', (message) => this.#note(message))
    page.on('pageerror', (error) => this.complaints.push(error.message))
  }

  static async visit(page: Page, address: string): Promise<DemoPage> {
    const opened = new DemoPage(page)
    await page.goto(address)
    await page.getByTestId('model').waitFor()
    return opened
  }

  /** One more tab of the same browser. Its complaints are this one's. */
  async beside(address = this.page.url()): Promise<DemoPage> {
    const other = await DemoPage.visit(await this.page.context().newPage(), address)
    Object.assign(other, { complaints: this.complaints })
    return other
  }

  /** The same while the server dies: as a reader does, loads it again until the page is there. */
  async besideDying(address = this.page.url()): Promise<DemoPage> {
    const other = new DemoPage(await this.page.context().newPage())
    Object.assign(other, { complaints: this.complaints })
    await other.#loadDying(() => other.page.goto(address, { waitUntil: 'commit' }))
    return other
  }

  reloadDying(): Promise<void> {
    return this.#loadDying(() => this.page.reload({ waitUntil: 'commit' }))
  }

  /** Loads the page, and again where the server died before it had given all of it. */
  async #loadDying(load: () => Promise<unknown>): Promise<void> {
    let next = load
    await eventually(async () => {
      const load = next
      next = () => this.page.reload({ waitUntil: 'commit' })
      await load()
      await this.page.getByTestId('model').waitFor({ timeout: 2000 })
    })
  }

  /** The conversation, without the announcements for screen readers. */
  get main(): Locator {
    return this.page.getByTestId('conversation')
  }

  get message(): Locator {
    return this.page.getByRole('textbox', { name: 'Message', exact: true })
  }

  /** All text of the page that a screen reader reads out when it changes. */
  async liveText(): Promise<string> {
    const regions = this.page.locator('[aria-live=polite], [aria-live=assertive], [role=log], [role=status], [role=alert]')
    return (await regions.allTextContents()).join('\n')
  }

  /** Everything that screen readers were told so far. */
  announced(urgency: 'polite' | 'assertive'): Promise<readonly string[]> {
    return this.page.getByTestId(`announced-${urgency}`).locator('p').allTextContents()
  }

  #note(message: ConsoleMessage): void {
    if (message.type() === 'error' || message.type() === 'warning') this.complaints.push(message.text())
  }

  async say(text: string): Promise<void> {
    await this.message.fill(text)
    await this.page.getByRole('button', { name: 'Send', exact: true }).click()
  }

  /** Waits for text of the answer that is arriving. */
  async open(text: string): Promise<void> {
    await this.page.locator('[data-open=true]').getByText(text).waitFor()
  }

  async reaches(status: string): Promise<void> {
    await this.page.locator(`[data-testid=conversation][data-status="${status}"]`).waitFor()
  }

  /** Returns the milliseconds in which this machine answers one request that does nothing and shows a frame. */
  roundTrip(): Promise<number> {
    return this.page.evaluate(async () => {
      const askedAt = performance.now()
      for (let count = 0; count < 5; count++) {
        await (await fetch('/studio/info')).json()
        await new Promise(requestAnimationFrame)
      }
      return (performance.now() - askedAt) / 5
    })
  }

  /** Stops the run. Returns the milliseconds until a new receipt was on the screen. */
  stop(): Promise<number> {
    return this.page.getByRole('button', { name: 'Stop', exact: true }).evaluate(async (button: HTMLElement) => {
      const receipts = (): number => document.querySelectorAll('[data-testid=receipt]').length
      const before = receipts()
      const stoppedAt = performance.now()
      button.click()
      await new Promise<void>((resolve) => {
        const observer = new MutationObserver(() => {
          if (receipts() === before) return
          observer.disconnect()
          resolve()
        })
        setTimeout(resolve, 5000)
        observer.observe(document.body, { childList: true, subtree: true })
      })
      return performance.now() - stoppedAt
    })
  }

  /** Draws with fonts that all machines have, instead of those of this one. */
  async useTestFonts(): Promise<void> {
    const fonts = [
      ['inter', '*', import.meta.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2')],
      ['mono', '.font-mono, .font-mono *, code, pre, kbd, code *, pre *', import.meta.resolve('@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2')],
    ] as const
    for (const [name, , file] of fonts) await this.page.route(`**/test-fonts/${name}`, (route) => route.fulfill({ path: fileURLToPath(file), contentType: 'font/woff2' }))
    await this.page.addStyleTag({
      content: fonts.map(([name, where]) => `@font-face { font-family: 'test ${name}'; font-weight: 100 900; src: url(/test-fonts/${name}) }\n${where} { font-family: 'test ${name}' !important }`).join('\n'),
    })
    await this.page.evaluate(async () => {
      await Promise.all([...document.fonts].map((font) => font.load()))
      await document.fonts.ready
    })
  }

  /** Goes to a session of the same server, and waits until the page has drawn all that it knows of it. */
  async show(sessionId: string): Promise<void> {
    await this.page.evaluate((id) => void (window.location.hash = id === '' ? '' : `#/s/${id}`), sessionId)
    await this.page.locator(sessionId === '' ? '[data-testid=conversation][data-status=new]' : '[data-testid=conversation]:not([data-status=new], [data-status=loading])').waitFor()
    await this.rests()
  }

  /** Waits until what has changed is drawn. */
  frame(): Promise<void> {
    return this.page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))))
  }

  /** Waits until nothing on the page changes any more, and that is drawn. */
  async rests(): Promise<void> {
    await this.page.evaluate(
      async (quietMs) =>
        new Promise<void>((resolve) => {
          const rest = (): void => {
            observer.disconnect()
            resolve()
          }
          let timer = setTimeout(rest, quietMs)
          const observer = new MutationObserver(() => {
            clearTimeout(timer)
            timer = setTimeout(rest, quietMs)
          })
          observer.observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true })
        }),
      quietMs,
    )
    await this.frame()
  }

  tool(name: string, state: string): Locator {
    return this.page.locator(`[data-tool="${name}"][data-state="${state}"]`)
  }

  get sessionId(): string {
    return /#\/s\/(.+)$/.exec(this.page.url())?.[1] ?? ''
  }

  /** What the page shows, in the form of `readSession`. */
  conversation(): Promise<readonly Entry[]> {
    return this.page.getByTestId('conversation').evaluate((conversation) => {
      const letters = (text: string | null): string => (text ?? '').replace(/[^\p{L}\p{N}]+/gu, '')
      return [...conversation.querySelectorAll<HTMLElement>('[data-testid=user], [data-testid=assistant]')].map((element) =>
        element.dataset.testid === 'user'
          ? { role: 'user' as const, text: letters((element.querySelector('[data-text]') ?? element).textContent) }
          : {
              role: 'assistant' as const,
              id: element.dataset.message ?? '',
              texts: [...element.querySelectorAll('.markdown')].map((text) => letters(text.textContent)),
              tools: [...element.querySelectorAll<HTMLElement>('[data-testid=tool-card]')].map((card) => ({
                name: card.dataset.tool ?? '',
                state: card.dataset.state ?? '',
              })),
            },
      )
    })
  }

  /** The page shows what the server has, and shows it again after a reload. */
  async equalsServer(): Promise<void> {
    const stored = await readSession(this.page, this.sessionId)
    expect(stored.length).toBeGreaterThan(0)
    await eventually(async () => expect(await this.conversation()).toEqual(stored))
    await this.page.reload()
    await eventually(async () => expect(await this.conversation()).toEqual(stored))
  }

  log(): Promise<readonly LogEvent[]> {
    return readLog(this.page, this.sessionId)
  }

  /** Kills the server as a reader does, by the button. */
  async killServer(button = 'Kill the server'): Promise<void> {
    await this.page.getByRole('button', { name: button, exact: true }).click()
    await this.page.getByRole('button', { name: 'Kill it', exact: true }).click()
  }

  /** Every word that the connection badge has said since. */
  async recordConnection(): Promise<() => Promise<readonly string[]>> {
    await this.page.getByTestId('connection').evaluate((badge) => {
      const words: string[] = [badge.dataset.word ?? '']
      Object.assign(window, { connectionWords: words })
      new MutationObserver(() => {
        const word = badge.dataset.word ?? ''
        if (words.at(-1) !== word) words.push(word)
      }).observe(badge, { attributes: true, attributeFilter: ['data-word'] })
    })
    return () => this.page.evaluate(() => (window as unknown as { connectionWords: string[] }).connectionWords)
  }

  /** The violations that axe finds on the page as it is, one line each: of these rules only, if some are named, and not in what `besides` selects. */
  async faults({ rules = [], besides = [] }: { readonly rules?: readonly string[]; readonly besides?: readonly string[] } = {}): Promise<readonly string[]> {
    if (!(await this.page.evaluate(() => 'axe' in window))) await this.page.evaluate(axe.source)
    return this.page.evaluate(
      async ([values, exclude]) => {
        const { axe: own } = window as unknown as { axe: typeof axe }
        const { violations } = await own.run({ exclude: [...exclude] }, { resultTypes: ['violations'], ...(values.length > 0 && { runOnly: { type: 'rule' as const, values: [...values] } }) })
        return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`))
      },
      [[...rules], [...besides]] as const,
    )
  }

  /** The same, and the contrast in the other colours too, which stay: nothing else differs in them. */
  async faultsInBothColours(besides: readonly string[] = []): Promise<readonly string[]> {
    const first = await this.faults({ besides })
    await this.#changeColours()
    const then = await this.faults({ rules: ['color-contrast'], besides })
    return [...first, ...then.map((fault) => `in other colours: ${fault}`)]
  }

  /** Chromium does not renew colours that are inherited when the system's scheme changes under a page: it draws all of it anew. */
  async #changeColours(): Promise<void> {
    const isDark = await this.page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
    await this.page.emulateMedia({ colorScheme: isDark ? 'light' : 'dark' })
    await this.page.evaluate(() => {
      const root = document.documentElement
      root.style.display = 'none'
      root.getBoundingClientRect()
      root.style.display = ''
    })
    await this.frame()
  }

  /** A server that was killed leaves broken connections in the console; nothing else may be there. */
  complaintsBesidesLostConnections(): readonly string[] {
    return this.complaints.filter((text) => !/^Failed to load resource: net::ERR_/.test(text))
  }
}
