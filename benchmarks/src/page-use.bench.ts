import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { markdownOf } from '../../apps/demo/test/e2e/paced-model.ts'
import { isShort, median, type Bench } from './harness.ts'
import { framesDuring, messageBox, newestAnswer, trials, twoCores, untilFrame, wholeLog, withDemo } from './page.ts'
import type { Frames, OpenDemo } from './page.ts'

const megabyte = 1_000_000
const sessions = [
  { sessionId: 'messages', say: 'tell me a story', turns: 1000 },
  { sessionId: 'events', say: 'what is the weather in Oslo and Lima', turns: 560 },
  { sessionId: 'answer', say: 'tell me a story', turns: 1, answer: markdownOf(megabyte) },
  { sessionId: 'question', say: 'tell me a story', turns: 1, question: markdownOf(megabyte) },
]
const keys = isShort ? 5 : 20

export const bench: Bench = {
  title: 'The page: frames and keys',
  text: [
    'Frames per second while something goes on, the longest time without one, and for each of the keys that are typed meanwhile the time',
    'until the frame with it. A streaming answer comes in 200 deltas of six characters per second, after so much that came at once.',
    `${twoCores()} ${trials} runs of each: the median of the frames per second, all keys, the worst time of all.`,
  ].join('\n'),
  async run() {
    const rows = await withDemo(sessions, async (demo) => [
      ...[
        await several(demo, '200 deltas/s, a message that begins', (page) => streaming(demo, page, 0), 'over 50/s, under 100 (D10)'),
        await several(demo, '200 deltas/s, after 100 kB', (page) => streaming(demo, page, 100_000), 'over 50/s, under 100 (D10)'),
        await several(demo, '200 deltas/s, after 1 MB', (page) => streaming(demo, page, megabyte), ''),
        await several(demo, 'scrolling through 2,000 messages', (page) => scrolling(demo, page, 'messages'), 'smooth (D32)'),
        await several(demo, 'scrolling through 10,000 events of tools', (page) => scrolling(demo, page, 'events'), ''),
        await several(demo, 'stepping in the middle of 10,000 events', (page) => stepping(demo, page), ''),
        await several(demo, 'typing below an answer of 1 MB', (page) => typing(demo, page, 'answer'), ''),
        await several(demo, 'typing below an input of 1 MB', (page) => typing(demo, page, 'question'), ''),
      ],
    ])
    return { head: ['what', 'frames/s', 'longest ms', 'key median ms', 'key worst ms', 'target'], rows }
  },
}

async function several({ withTab }: OpenDemo, what: string, once: (page: Page) => Promise<Frames>, target: string): Promise<string[]> {
  const runs: Frames[] = []
  for (let trial = 0; trial < trials; trial += 1) runs.push(await withTab(once))
  const inputMs = runs.flatMap((run) => run.inputMs)
  const ofKeys = inputMs.length === 0 ? ['', ''] : [median(inputMs).toFixed(0), Math.max(...inputMs).toFixed(0)]
  return [
    what,
    median(runs.map(({ perSecond }) => perSecond)).toFixed(1),
    Math.max(...runs.map(({ worstMs }) => worstMs)).toFixed(0),
    ...ofKeys,
    target,
  ]
}

async function press(page: Page, key: string): Promise<void> {
  for (let count = 0; count < keys; count += 1) {
    await page.keyboard.press(key)
    await setTimeout(150)
  }
}

async function streaming({ url }: OpenDemo, page: Page, atOnce: number): Promise<Frames> {
  await page.goto(url)
  const box = messageBox(page)
  // The first answer loads the code that renders Markdown and highlights code.
  await box.fill(JSON.stringify({ atOnce: 1000, deltas: 0, perSecond: 1, characters: 0 }))
  await box.press('Enter')
  await wholeLog(page)
  await page.locator('pre span').first().waitFor()
  await box.fill(JSON.stringify({ atOnce, deltas: 6000, perSecond: 200, characters: 6 }))
  await box.press('Enter')
  await untilFrame(page, `document.querySelector('[data-open=true] .markdown')?.textContent.length > ${atOnce * 0.4}`)
  const frames = await framesDuring(page, () => press(page, 'a'))
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByTestId('receipt').waitFor()
  return frames
}

async function scrolling({ url }: OpenDemo, page: Page, sessionId: string): Promise<Frames> {
  await open(page, url, sessionId)
  await page.mouse.move(700, 400)
  return framesDuring(page, async () => {
    for (let count = 0; count < 3 * keys; count += 1) {
      await page.mouse.wheel(0, -500)
      await setTimeout(50)
    }
  })
}

async function stepping({ url }: OpenDemo, page: Page): Promise<Frames> {
  await open(page, url, 'events')
  const slider = page.getByRole('slider', { name: 'Event' })
  const middle = Math.floor(Number(await slider.getAttribute('max')) / 2)
  await slider.fill(String(middle))
  await page.getByTestId('past').getByText(`as of event ${middle}.`).waitFor()
  return framesDuring(page, () => press(page, ']'))
}

async function typing({ url }: OpenDemo, page: Page, sessionId: string): Promise<Frames> {
  await open(page, url, sessionId)
  await messageBox(page).focus()
  return framesDuring(page, () => press(page, 'a'))
}

async function open(page: Page, url: string, sessionId: string): Promise<void> {
  await page.goto(`${url}/#/s/${sessionId}`)
  await newestAnswer(page)
  await wholeLog(page)
}
