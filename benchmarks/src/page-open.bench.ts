import { markdownOf } from '../../apps/demo/test/e2e/paced-model.ts'
import type { Bench } from './harness.ts'
import {
  framesDuring,
  messageBox,
  newestAnswer,
  row,
  rowHead,
  secondStarts,
  trials,
  twoCores,
  untilFrame,
  wholeLog,
  withDemo,
} from './page.ts'
import type { OpenDemo } from './page.ts'

const megabyte = markdownOf(1_000_000)

const sessions = [
  { sessionId: 'short', say: 'tell me a story', turns: 1 },
  { sessionId: 'messages', say: 'tell me a story', turns: 1000 },
  { sessionId: 'events', say: 'what is the weather in Oslo and Lima', turns: 560 },
  { sessionId: 'answer', say: 'tell me a story', turns: 1, answer: megabyte },
  { sessionId: 'question', say: 'tell me a story', turns: 1, question: megabyte },
]

/** Sessions to open, each with the target for its time. */
const opened = [
  { sessionId: 'short', what: '2 messages', target: '1,500 (D34)' },
  { sessionId: 'messages', what: '2,000 messages', target: '1,000 (D32)' },
  { sessionId: 'events', what: '10,000 events of tools', target: '' },
  { sessionId: 'answer', what: 'an answer of 1 MB', target: '' },
  { sessionId: 'question', what: 'an input of 1 MB', target: '' },
]

export const bench: Bench = {
  title: 'The page: opening a session',
  text: [
    'In Chromium, before the server of `npm start`. *Seen*: the newest answer is drawn and the message box is there; *whole*: the log',
    'is read and the timeline drawn. *By address* is a first load with an empty cache, *from the list* a click in a page that is open.',
    `${twoCores()} Medians of ${trials}.`,
  ].join('\n'),
  async run() {
    const rows = await withDemo(sessions, async (demo) => {
      const interactive: number[] = []
      for (let trial = 0; trial < trials; trial += 1) interactive.push(await firstPage(demo))
      const rows = [row('first page, until a key is drawn', interactive, '1,500 (D34)')]
      for (const { sessionId, what, target } of opened) {
        const times = { address: [] as number[], whole: [] as number[], list: [] as number[] }
        for (let trial = 0; trial < trials; trial += 1) {
          const { seenMs, wholeMs } = await byAddress(demo, sessionId)
          times.address.push(seenMs)
          times.whole.push(wholeMs)
          if (sessionId !== 'short') times.list.push(await fromList(demo, sessionId))
        }
        rows.push(row(`${what}, by address, seen`, times.address, target), row(`${what}, by address, whole`, times.whole, ''))
        if (times.list.length > 0) rows.push(row(`${what}, from the list, seen`, times.list, sessionId === 'messages' ? target : ''))
      }
      return rows
    })
    return { head: rowHead, rows: [...rows, row('second `npm start`, until it is ready', await secondStarts(), '5,000 (D1)')] }
  },
}

async function firstPage({ url, withTab }: OpenDemo): Promise<number> {
  return withTab(async (page) => {
    const startedAt = performance.now()
    await page.goto(url)
    await messageBox(page).waitFor()
    const loadedMs = performance.now() - startedAt
    const { inputMs } = await framesDuring(page, async () => {
      await messageBox(page).press('a')
      await untilFrame(page, 'window.counted.inputMs.length > 0')
    })
    return loadedMs + (inputMs[0] ?? 0)
  })
}

async function byAddress({ url, withTab }: OpenDemo, sessionId: string): Promise<{ readonly seenMs: number; readonly wholeMs: number }> {
  return withTab(async (page) => {
    const startedAt = performance.now()
    await page.goto(`${url}/#/s/${sessionId}`)
    await Promise.all([newestAnswer(page), messageBox(page).waitFor()])
    const seenMs = performance.now() - startedAt
    await wholeLog(page)
    return { seenMs, wholeMs: performance.now() - startedAt }
  })
}

async function fromList({ url, withTab }: OpenDemo, sessionId: string): Promise<number> {
  return withTab(async (page) => {
    await page.goto(`${url}/#/s/short`)
    await wholeLog(page)
    const list = page.getByRole('navigation', { name: 'Sessions' })
    await list.getByRole('button', { name: new RegExp(`^${sessionId}`) }).waitFor()
    return page.evaluate<number>(`new Promise((resolve) => {
      const startedAt = performance.now()
      const before = document.querySelector('[data-testid=assistant]')
      const look = () => {
        const answer = document.querySelector('[data-testid=assistant] .markdown')
        if (answer && !document.contains(before)) resolve(performance.now() - startedAt)
        else requestAnimationFrame(look)
      }
      const buttons = [...document.querySelectorAll('nav[aria-label=Sessions] li button')]
      buttons.find(({ textContent }) => textContent.startsWith('${sessionId}')).click()
      requestAnimationFrame(look)
    })`)
  })
}
