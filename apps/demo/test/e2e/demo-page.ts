import type { ConsoleMessage, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
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

  static async open(page: Page, address: string): Promise<DemoPage> {
    const opened = new DemoPage(page)
    await page.goto(address)
    await page.getByTestId('model').waitFor()
    return opened
  }

  #note(message: ConsoleMessage): void {
    if (message.type() === 'error' || message.type() === 'warning') this.complaints.push(message.text())
  }

  async say(text: string): Promise<void> {
    await this.page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
    await this.page.getByRole('button', { name: 'Send', exact: true }).click()
  }

  async reaches(status: string): Promise<void> {
    await this.page.locator(`[data-status="${status}"]`).waitFor()
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
          ? { role: 'user' as const, text: letters(element.textContent) }
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
    await expect.poll(() => this.conversation(), { timeout: 5000 }).toEqual(stored)
    await this.page.reload()
    await expect.poll(() => this.conversation(), { timeout: 5000 }).toEqual(stored)
  }

  log(): Promise<readonly LogEvent[]> {
    return readLog(this.page, this.sessionId)
  }

  /** Kills the server as a reader does, by the button. */
  async killServer(): Promise<void> {
    await this.page.getByRole('button', { name: 'Kill the server', exact: true }).click()
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

  /** A server that was killed leaves broken connections in the console; nothing else may be there. */
  complaintsBesidesLostConnections(): readonly string[] {
    return this.complaints.filter((text) => !/^Failed to load resource: net::ERR_/.test(text))
  }
}
