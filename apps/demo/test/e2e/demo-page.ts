import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { ConsoleMessage, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import { readLog, readSession } from './session-state.ts'
import type { Entry, LogEvent } from './session-state.ts'

/** Longer than the delays of a page before it highlights code or reads more of a log. */
const quietMs = 180

/** One tab of the demo, with methods named after actions of a user. */
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

  /** Opens another tab of the same browser. It shares the complaints of this one. */
  async beside(address = this.page.url()): Promise<DemoPage> {
    const other = await DemoPage.visit(await this.page.context().newPage(), address)
    Object.assign(other, { complaints: this.complaints })
    return other
  }

  /** Opens another tab while the server dies. Like a user, reloads until the page is there. */
  async besideDying(address = this.page.url()): Promise<DemoPage> {
    const other = new DemoPage(await this.page.context().newPage())
    Object.assign(other, { complaints: this.complaints })
    await other.#loadDying(() => other.page.goto(address, { waitUntil: 'commit' }))
    return other
  }

  reloadDying(): Promise<void> {
    return this.#loadDying(() => this.page.reload({ waitUntil: 'commit' }))
  }

  /** Loads the page, and reloads it if the server died before it had sent all of it. */
  async #loadDying(load: () => Promise<unknown>): Promise<void> {
    let next = load
    await eventually(async () => {
      const load = next
      next = () => this.page.reload({ waitUntil: 'commit' })
      await load()
      await this.page.getByTestId('model').waitFor({ timeout: 2000 })
    })
  }

  /** Conversation without the announcements for screen readers. */
  get main(): Locator {
    return this.page.getByTestId('conversation')
  }

  get message(): Locator {
    return this.page.getByRole('textbox', { name: 'Message', exact: true })
  }

  /** Returns all text of the page that a screen reader announces when it changes. */
  async liveText(): Promise<string> {
    const regions = this.page.locator('[aria-live=polite], [aria-live=assertive], [role=log], [role=status], [role=alert]')
    return (await regions.allTextContents()).join('\n')
  }

  /** Returns all announcements to screen readers so far. */
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

  /** Waits for text of the answer that is being received. */
  async open(text: string): Promise<void> {
    await this.page.locator('[data-open=true]').getByText(text).waitFor()
  }

  async reaches(status: string): Promise<void> {
    await this.page.locator(`[data-testid=conversation][data-status="${status}"]`).waitFor()
  }

  /** Returns the time in ms that this machine needs for one trivial request and a frame. */
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

  /** Stops the run. Returns the time in ms until a new receipt was visible. */
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

  /** Uses fonts that every machine has, instead of the system fonts. */
  async useTestFonts(): Promise<void> {
    const fonts = [
      ['inter', '*', import.meta.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2')],
      [
        'mono',
        '.font-mono, .font-mono *, code, pre, kbd, code *, pre *',
        import.meta.resolve('@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2'),
      ],
    ] as const
    for (const [name, , file] of fonts)
      await this.page.route(`**/test-fonts/${name}`, (route) => route.fulfill({ path: fileURLToPath(file), contentType: 'font/woff2' }))
    await this.page.addStyleTag({
      content: fonts
        .map(
          ([name, where]) =>
            `@font-face { font-family: 'test ${name}'; font-weight: 100 900; src: url(/test-fonts/${name}) }\n${where} { font-family: 'test ${name}' !important }`,
        )
        .join('\n'),
    })
    await this.page.evaluate(async () => {
      await Promise.all([...document.fonts].map((font) => font.load()))
      await document.fonts.ready
    })
  }

  /** Opens a session of the same server, and waits until the page has rendered all known data. */
  async show(sessionId: string): Promise<void> {
    await this.page.evaluate((id) => void (window.location.hash = id === '' ? '' : `#/s/${id}`), sessionId)
    await this.page
      .locator(
        sessionId === ''
          ? '[data-testid=conversation][data-status=new]'
          : '[data-testid=conversation]:not([data-status=new], [data-status=loading])',
      )
      .waitFor()
    await this.rests()
  }

  /** Waits until changes are rendered. */
  frame(): Promise<void> {
    return this.page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))))
  }

  /** Waits until the page has loaded the code that it needs, no longer changes and is rendered. */
  async rests(): Promise<void> {
    await this.page.evaluate(
      async (quietMs) =>
        new Promise<void>((resolve) => {
          const rest = (): void => {
            // Markdown is plain text until its code is loaded. Nothing changes meanwhile.
            if (document.querySelector('[data-plain]')) timer = setTimeout(rest, quietMs)
            else {
              observer.disconnect()
              resolve()
            }
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

  /** Returns the visible conversation in the form of `readSession`. */
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

  /** Expects that the page shows the data of the server, also after a reload. */
  async equalsServer(): Promise<void> {
    const stored = await readSession(this.page, this.sessionId)
    expect(stored.length).toBeGreaterThan(0)
    await eventually(async () => expect(await this.conversation()).toEqual(stored))
    await this.page.reload()
    await eventually(async () => expect(await this.conversation()).toEqual(stored))
    // The messages come before the log.
    await this.page.locator('[data-testid=conversation]:not([data-status=loading])').waitFor()
  }

  log(): Promise<readonly LogEvent[]> {
    return readLog(this.page, this.sessionId)
  }

  /** Kills the server with the button, like a user. */
  async killServer(button = 'Kill the server'): Promise<void> {
    await this.page.getByRole('button', { name: button, exact: true }).click()
    await this.page.getByRole('button', { name: 'Kill it', exact: true }).click()
  }

  /** Returns a function that returns all words of the connection badge since now. */
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

  /**
   * Returns the violations that axe finds on the current page, one line each. `rules` limits it to these rules; `besides` selects
   * parts that are ignored.
   */
  async faults({ rules = [], besides = [] }: { readonly rules?: readonly string[]; readonly besides?: readonly string[] } = {}): Promise<
    readonly string[]
  > {
    if (!(await this.page.evaluate(() => 'axe' in window))) await this.page.evaluate(axe.source)
    return this.page.evaluate(
      async ([values, exclude]) => {
        const { axe: own } = window as unknown as { axe: typeof axe }
        const { violations } = await own.run(
          { exclude: [...exclude] },
          { resultTypes: ['violations'], ...(values.length > 0 && { runOnly: { type: 'rule' as const, values: [...values] } }) },
        )
        return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`))
      },
      [[...rules], [...besides]] as const,
    )
  }

  /** Same as `faults`, and also checks the contrast in the other theme, which stays active: only colours differ in it. */
  async faultsInBothColours(besides: readonly string[] = []): Promise<readonly string[]> {
    const first = await this.faults({ besides })
    await this.#changeColours()
    const then = await this.faults({ rules: ['color-contrast'], besides })
    return [...first, ...then.map((fault) => `in other colours: ${fault}`)]
  }

  /** Changes the theme and forces a complete repaint: Chromium does not update inherited colours when the system theme changes. */
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

  /** Returns complaints other than the broken connections of a killed server. */
  complaintsBesidesLostConnections(): readonly string[] {
    return this.complaints.filter((text) => !/^Failed to load resource: net::ERR_/.test(text))
  }
}
