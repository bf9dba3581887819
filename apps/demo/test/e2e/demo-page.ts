import axe from 'axe-core'
import type { ConsoleMessage, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import { readLog, readSession } from './session-state.ts'
import type { Entry, LogEvent } from './session-state.ts'

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
    await other.page.goto(address).catch(() => undefined)
    await other.#settle()
    return other
  }

  async reloadDying(): Promise<void> {
    await this.page.reload().catch(() => undefined)
    await this.#settle()
  }

  /** Waits until the page is there, and loads it again where the server died before it had given all of it. */
  async #settle(): Promise<void> {
    const model = this.page.getByTestId('model')
    await eventually(async () => {
      if (await model.isVisible()) return
      await model.waitFor({ timeout: 2000 }).catch(() => this.page.reload())
      expect(await model.isVisible()).toBe(true)
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

  /** The violations that axe finds on the page as it is, one line each. */
  async faults(): Promise<readonly string[]> {
    await this.page.evaluate(axe.source)
    return this.page.evaluate(async () => {
      const { violations } = await (window as unknown as { axe: typeof axe }).axe.run()
      return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`))
    })
  }

  /** A server that was killed leaves broken connections in the console; nothing else may be there. */
  complaintsBesidesLostConnections(): readonly string[] {
    return this.complaints.filter((text) => !/^Failed to load resource: net::ERR_/.test(text))
  }
}
