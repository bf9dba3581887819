import type { Page, Request } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { describeWithServer } from './browser.ts'
import type { DemoPage } from './demo-page.ts'
import { eventually } from './eventually.ts'
import { writeSessions } from './long-sessions.ts'
import { markdownOf, startPacedModel } from './paced-model.ts'
import type { PacedAnswer, PacedModel } from './paced-model.ts'

const turns = 1000
/** The story of the offline model has one question, one answer, and ten events. */
const messages = 2 * turns
const events = 10 * turns + 1
const megabyte = 1_000_000
const chapterForm = /Chapter \d+/g

let model: PacedModel | undefined
afterAll(() => model?.close())

const pacedModel = async (): Promise<{ DEMO_BASE_URL: string; DEMO_MODEL: string }> => {
  model = await startPacedModel()
  return { DEMO_BASE_URL: model.url, DEMO_MODEL: 'paced' }
}

const fill = (dataFolder: string): Promise<void> =>
  writeSessions(dataFolder, [
    { sessionId: 'short', say: 'tell me a story', turns: 1 },
    { sessionId: 'long', say: 'tell me a story', turns },
    { sessionId: 'long-answer', say: 'tell me a story', turns: 1, answer: markdownOf(megabyte) },
    { sessionId: 'long-question', say: 'tell me a story', turns: 1, question: markdownOf(megabyte) },
  ])

/** Returns the number of elements of the page by panel. */
const elements = (tab: DemoPage): Promise<{ conversation: number; timeline: number }> =>
  tab.page.evaluate(() => {
    const count = (selector: string): number => document.querySelector(selector)?.querySelectorAll('*').length ?? 0
    return { conversation: count('[data-testid=conversation]'), timeline: count('[aria-label=Timeline]') }
  })

const isBounded = async (tab: DemoPage): Promise<void> => {
  const { conversation, timeline } = await elements(tab)
  expect(conversation).toBeLessThan(messages / 2)
  expect(timeline).toBeLessThan(events / 3)
}

const open = async (tab: DemoPage, sessionId: string): Promise<void> => {
  const { origin } = new URL(tab.page.url())
  await tab.page.goto('about:blank')
  await tab.page.goto(`${origin}/#/s/${sessionId}`)
  await tab.reaches('completed')
}

/** Returns the requests to this path that have no answer yet. The set changes with each request and answer. */
const openRequests = (page: Page, path: string): ReadonlySet<Request> => {
  const open = new Set<Request>()
  page.on('request', (request) => new URL(request.url()).pathname === path && open.add(request))
  for (const end of ['requestfinished', 'requestfailed'] as const) page.on(end as 'requestfinished', (request) => open.delete(request))
  return open
}

/** Checks that no typed letter is lost. */
const answersToTyping = async (tab: DemoPage): Promise<void> => {
  await tab.message.pressSequentially('still here')
  expect(await tab.message.inputValue()).toBe('still here')
}

/**
 * Waits until each chapter of the Markdown is in the page once. It checks inside the page, because transferring the text repeatedly
 * would be the main load.
 */
const hasChapters = async (tab: DemoPage, selector: string, markdown: string): Promise<void> => {
  const chapters = markdown.match(chapterForm)?.length ?? 0
  expect(chapters).toBeGreaterThan(500)
  await tab.page.waitForFunction(
    ([selector, form, chapters]) => document.querySelector(selector)?.textContent.match(new RegExp(form, 'g'))?.length === chapters,
    [selector, chapterForm.source, chapters] as const,
    { polling: 100 },
  )
}

const say = (tab: DemoPage, answer: PacedAnswer): Promise<void> => tab.say(JSON.stringify(answer))

describeWithServer(
  'a page with a lot to show',
  pacedModel,
  (stage) => {
    it('D32, D54: a session of 2,000 messages and 10,000 events opens with the requests of a short one, and the page contains only visible entries', () =>
      stage().visit(async (tab) => {
        const { page } = tab
        let requests: string[] = []
        page.on('request', (request) => {
          const { pathname, searchParams } = new URL(request.url())
          if (/\/session\/[^/]+/.test(pathname))
            requests.push(
              `${request.method()} ${pathname.split('/')[5] ?? 'state'} ${searchParams.get('limit') ?? searchParams.get('from')}`,
            )
        })
        await open(tab, 'short')
        expect(requests).toEqual(['GET state 40', 'GET events start'])
        requests = []
        await open(tab, 'long')
        // The page keeps 10,000 events of a stream. Older events are read once more, at the end.
        expect(requests.slice(0, 2)).toEqual(['GET state 40', 'GET events start'])
        const slider = page.getByRole('slider', { name: 'Event' })
        await eventually(async () => expect(await slider.getAttribute('max')).toBe(String(events)))
        expect(requests.slice(2)).toEqual(['GET events start'])
        await isBounded(tab)
        await answersToTyping(tab)
        await page.locator('.conversation-scroll').evaluate((box) => box.scrollTo({ top: 0 }))
        await eventually(async () => expect(await page.locator('[data-message]').first().getAttribute('data-message')).toMatch(/-0$/))
        await isBounded(tab)

        const middle = Math.floor(events / 2)
        await slider.fill(String(middle))
        await page.getByTestId('past').getByText(`as of event ${middle}.`).waitFor()
        for (const next of [middle + 1, middle + 2, middle + 3]) {
          await page.keyboard.press(']')
          await page.getByTestId('past').getByText(`as of event ${next}.`).waitFor()
        }
        await isBounded(tab)
        expect(requests).toHaveLength(3)
      }))

    it('D32: the newest messages of a session come before its log, and the page is usable', () =>
      stage().visit(
        async (tab) => {
          const { page } = tab
          const held = Promise.withResolvers<void>()
          await page.route('**/session/long/events*', async (route) => {
            await held.promise
            await route.abort()
          })
          await page.goto('about:blank')
          await page.goto(`${stage().url}/#/s/long`)
          await page.locator(`[data-message$="-${turns - 1}"]`).waitFor()
          await tab.reaches('loading')
          await answersToTyping(tab)
          expect(await page.locator('[data-message]').count()).toBe(20)
          await page.unrouteAll({ behavior: 'ignoreErrors' })
          held.resolve()
        },
        { killed: true },
      ))

    it('D10: a delta redraws only the end of its own message, at most once per frame', () =>
      stage().visit(async (tab) => {
        // This loads the code that renders Markdown and highlights code.
        await say(tab, { atOnce: 600, deltas: 0, perSecond: 1, characters: 0 })
        await tab.main.locator('h2').first().waitFor()
        await tab.reaches('completed')
        const lists = openRequests(tab.page, '/api/agent/sessions')
        await say(tab, { atOnce: 0, deltas: 6000, perSecond: 600, characters: 8 })
        await tab.page.locator('[data-open=true] .markdown h2').first().waitFor()
        // The list of sessions is read again when the run starts.
        await tab.reaches('running')
        await tab.page.locator('[aria-label=Sessions] [aria-current=page]').getByText('running').waitFor()
        await tab.frame()
        await expect.poll(() => lists.size).toBe(0)
        await tab.frame()
        const seen = await tab.page.evaluate(async () => {
          const message = document.querySelector('[data-open=true] .markdown')
          if (!message) throw new Error('There is no open message.')
          let frame = 0
          const commits = new Map<number, number>()
          const elsewhere: string[] = []
          const earlier: string[] = []
          // A frame may bring several blocks. Blocks that had two later ones before the frame must not change.
          let settled: readonly Element[] = []
          // Code is highlighted a moment after it stops changing.
          const isColouring = (node: Node): boolean => (node instanceof Element ? node : node.parentElement)?.closest('pre') != null
          const drawn = new MutationObserver((records) => {
            const own = records.filter(({ target }) => !isColouring(target))
            if (own.length > 0) commits.set(frame, (commits.get(frame) ?? 0) + 1)
            for (const { target } of own)
              if (settled.some((block) => block.contains(target))) earlier.push(target.textContent?.slice(0, 80) ?? '')
            settled = [...message.querySelectorAll(':scope > * > * > *')].slice(0, -2)
          })
          drawn.observe(message, { childList: true, subtree: true, characterData: true })
          const others = new MutationObserver(
            (records) =>
              void elsewhere.push(...records.map(({ target }) => (target.parentElement ?? (target as Element)).outerHTML.slice(0, 120))),
          )
          for (const label of ['Sessions', 'Inspector', 'Timeline']) {
            const panel = document.querySelector(`[aria-label=${label}]`)
            if (panel) others.observe(panel, { childList: true, subtree: true, characterData: true, attributes: true })
          }
          const first = message.querySelector('h2')
          const length = (): number => message.textContent?.length ?? 0
          const until = length() + 5000
          while (length() < until && document.contains(message)) {
            await new Promise(requestAnimationFrame)
            frame++
          }
          drawn.disconnect()
          others.disconnect()
          return {
            frames: frame,
            commits: [...commits.values()],
            elsewhere,
            earlier,
            keptFirst: first !== null && document.contains(first),
            grown: length() >= until,
          }
        })
        expect(seen.grown).toBe(true)
        expect(seen.earlier).toEqual([])
        expect(seen.elsewhere).toEqual([])
        expect(seen.keptFirst).toBe(true)
        expect(seen.commits.length).toBeGreaterThan(3)
        expect(Math.max(...seen.commits)).toBe(1)
        await tab.reaches('completed')
      }))

    it('a message of 1 MB leaves the page usable, from user or model, and all of it is shown', () =>
      stage().visit(async (tab) => {
        for (const [sessionId, role] of [
          ['long-answer', 'assistant'],
          ['long-question', 'user'],
        ] as const) {
          await open(tab, sessionId)
          await answersToTyping(tab)
          await hasChapters(tab, `[data-testid=${role}]`, markdownOf(megabyte))
          // Text far from the window is not rendered as Markdown.
          expect((await elements(tab)).conversation).toBeLessThan(megabyte / 100)
          await tab.page.locator('.conversation-scroll').evaluate((box) => box.scrollTo({ top: 0 }))
          await tab.page
            .getByTestId(role)
            .getByText('Chapter 1', { exact: role === 'assistant' })
            .first()
            .waitFor()
        }
      }))

    it('a streaming answer of 1 MB leaves the page usable, and does not change when it is complete', () =>
      stage().visit(async (tab) => {
        await say(tab, { atOnce: megabyte, deltas: 1200, perSecond: 300, characters: 6 })
        await tab.page.locator('[data-testid=assistant] h2').first().waitFor()
        await answersToTyping(tab)
        expect((await elements(tab)).conversation).toBeLessThan(megabyte / 100)
        await tab.reaches('completed')
        await hasChapters(tab, '[data-testid=assistant]', markdownOf(megabyte + 1200 * 6))
        expect((await elements(tab)).conversation).toBeLessThan(megabyte / 100)
      }))
  },
  fill,
)
