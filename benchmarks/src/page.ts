import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { buildPage } from '@bowline/studio/build-page'
import { chromium } from 'playwright-core'
import type { Page } from 'playwright-core'
import { freePort } from '../../apps/demo/src/supervisor/free-port.ts'
import { keepServer } from '../../apps/demo/src/supervisor/keep-server.ts'
import { writeSessions } from '../../apps/demo/test/e2e/long-sessions.ts'
import type { LongSession } from '../../apps/demo/test/e2e/long-sessions.ts'
import { startPacedModel } from '../../apps/demo/test/e2e/paced-model.ts'
import { chromiumOptions } from '../../scripts/chromium.ts'
import { isShort, median } from './harness.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

/** Number of trials, each in its own browser profile. */
export const trials = isShort ? 1 : 3

export interface OpenDemo {
  readonly url: string
  /** Calls `work` with a tab of a new user, which is closed afterwards. */
  readonly withTab: <T>(work: (page: Page) => Promise<T>) => Promise<T>
}

/** Starts the demo like `npm start`, with these sessions in its store, a paced model, and a browser. */
export async function withDemo<T>(sessions: readonly LongSession[], work: (demo: OpenDemo) => Promise<T>): Promise<T> {
  const pageFolder = await buildPage()
  return withTemporaryFolder(async (dataFolder) => {
    await writeSessions(dataFolder, sessions)
    const model = await startPacedModel()
    const port = String(await freePort(0))
    const ready = Promise.withResolvers<string>()
    const server = keepServer({
      env: {
        ...process.env,
        DEMO_DATA: dataFolder,
        DEMO_PAGE: pageFolder,
        DEMO_PORT: port,
        DEMO_SPEED: '0',
        DEMO_BASE_URL: model.url,
        DEMO_MODEL: 'paced',
      },
      onReady: ({ url }) => ready.resolve(url),
      onGone: (exit) => ready.reject(new Error(`The demo has ended: ${exit}`)),
    })
    const browser = await chromium.launch(chromiumOptions)
    try {
      const url = await ready.promise
      return await work({
        url,
        withTab: async (use) => {
          const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
          try {
            return await use(await context.newPage())
          } finally {
            await context.close()
          }
        },
      })
    } finally {
      await browser.close()
      server.stop()
      await server.ended
      model.close()
    }
  })
}

/** Returns the times until `npm start` is ready, in a folder in which it was started before. */
export async function secondStarts(): Promise<readonly number[]> {
  await buildPage()
  return withTemporaryFolder(async (dataFolder) => {
    const env = { ...process.env, DEMO_DATA: dataFolder, DEMO_PORT: '0' }
    const start = async (): Promise<number> => {
      const startedAt = performance.now()
      const child = spawn(process.execPath, [join(import.meta.dirname, '../../apps/demo/src/supervisor.ts')], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = once(child, 'exit')
      for await (const chunk of child.stdout) if (String(chunk).includes('ready:')) break
      const tookMs = performance.now() - startedAt
      child.kill('SIGTERM')
      await ended
      return tookMs
    }
    await start()
    const times: number[] = []
    for (let trial = 0; trial < trials; trial += 1) times.push(await start())
    return times
  })
}

export interface Frames {
  readonly perSecond: number
  readonly worstMs: number
  /** For each key, the time until the frame that shows it. */
  readonly inputMs: readonly number[]
}

// As text, because these programs are checked with the types of Node.
const startCounting = `
  window.counted = { stamps: [], inputMs: [], going: true }
  const frame = (at) => {
    window.counted.stamps.push(at)
    if (window.counted.going) requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
  window.addEventListener('keydown', ({ timeStamp }) => {
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => window.counted.inputMs.push(performance.now() - timeStamp)
      port2.postMessage(undefined)
    })
  }, { capture: true })`

/** Returns the frames of the page and its delay after each key during the work. */
export async function framesDuring(page: Page, work: () => Promise<unknown>): Promise<Frames> {
  await page.evaluate(startCounting)
  await work()
  const { stamps, inputMs } = await page.evaluate<{ stamps: number[]; inputMs: number[] }>('window.counted.going = false, window.counted')
  const gaps = stamps.slice(1).map((stamp, place) => stamp - (stamps[place] ?? 0))
  return { perSecond: (1000 * gaps.length) / ((stamps.at(-1) ?? 0) - (stamps[0] ?? 0)), worstMs: Math.max(...gaps), inputMs }
}

const mostWaitMs = 60_000

/**
 * Resolves with the first frame in which this is true, and rejects after a minute. It runs in the page, because the content
 * security policy forbids the wait of Playwright.
 */
export async function untilFrame(page: Page, condition: string): Promise<void> {
  const isTrue = await page.evaluate<boolean>(`new Promise((resolve) => {
    const until = performance.now() + ${mostWaitMs}
    const look = () => (${condition} ? resolve(true) : performance.now() > until ? resolve(false) : requestAnimationFrame(look))
    look()
  })`)
  if (!isTrue) throw new Error(`It does not come to be: ${condition}`)
}

export const messageBox = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true })

export const newestAnswer = (page: Page): Promise<void> => page.locator('[data-testid=assistant] .markdown').last().waitFor()

export const wholeLog = (page: Page): Promise<void> => page.locator('[data-testid=conversation][data-status=completed]').waitFor()

/** Returns a table row of figures in ms: the name, the median, the worst one and the target. */
export function row(what: string, valuesMs: readonly number[], target: string): string[] {
  return [what, median(valuesMs).toFixed(0), Math.max(...valuesMs).toFixed(0), target]
}

export const rowHead = ['what', 'median ms', 'worst ms', 'target']

/** Returns the conditions of the figures, in addition to the first line of the section. */
export const twoCores = (): string =>
  `Browser, server and model share the cores; the machine's load was ${loadavg()[0]?.toFixed(1)} when it began.`
