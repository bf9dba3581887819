import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { chromiumOptions, isChromiumMissing, titleInBrowser } from '../../../../scripts/chromium.ts'
import type { DemoEnv } from '../demo-process.ts'
import { DemoPage } from './demo-page.ts'
import { keepDemo } from './kept-demo.ts'
import type { KeptDemo } from './kept-demo.ts'
import { openRecording } from './recorded/recording.ts'
import type { Recording } from './recorded/recording.ts'
import { lendTab } from './tabs.ts'

const desktop = { width: 1440, height: 900 }

let browser: Promise<Browser> | undefined

/** Returns the browser that all suites share. They run in one process, and it ends with that process. */
function sharedBrowser(): Promise<Browser> {
  browser ??= chromium.launch(chromiumOptions)
  return browser
}

export interface Visit {
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly colorScheme?: 'light' | 'dark'
  /** Screen pixels per page pixel: 2 corresponds to a zoom of 200 % with half the window. Default 1. */
  readonly deviceScaleFactor?: number
  /** Time of the page when it opens, in ms since 1970, in UTC. Default: the real time. */
  readonly now?: number
  /** True if the server is killed on purpose: broken connections in the console are then allowed. */
  readonly killed?: boolean
  /** True if the tab must be new, and is not reused. Default: a tab may be reused, with nothing left except compiled code. */
  readonly fresh?: boolean
}

/** Opens the page in tabs, each with its own cookies. */
export interface Stage {
  readonly url: string
  /** Opens a tab for `test` and expects that the console stays clean. */
  visit(test: (tab: DemoPage) => Promise<void>, options?: Visit): Promise<void>
}

export interface OwnStage extends Stage {
  readonly demo: KeptDemo
}

/** Returns tabs of the page at this address. */
export function stageAt(url: string): Stage {
  return {
    url,
    async visit(test, { viewport = desktop, colorScheme = 'light', deviceScaleFactor = 1, now, killed = false, fresh = false } = {}) {
      await lendTab(await sharedBrowser(), { viewport, colorScheme, deviceScaleFactor, now }, fresh, async (page) => {
        const tab = await DemoPage.visit(page, url)
        await test(tab)
        expect(killed ? tab.complaintsBesidesLostConnections() : tab.complaints).toEqual([])
      })
    },
  }
}

/** Defines a test of a page with a server of the project. Without a browser, it is skipped and its title says so. */
export function testInBrowser(name: string, test: (browser: Browser) => Promise<void>): void {
  it.skipIf(isChromiumMissing)(titleInBrowser(name), async () => test(await sharedBrowser()))
}

/** Defines a suite in a real browser with the server that all suites share. */
export function describeInBrowser(name: string, suite: (stage: Stage) => void): void {
  describe.skipIf(isChromiumMissing)(titleInBrowser(name), () => suite(stageAt(isChromiumMissing ? '' : inject('demoUrl'))))
}

/** Defines a suite in a real browser with its own server. `prepare` fills the data folder before the start. */
export function describeWithServer(
  name: string,
  env: DemoEnv | (() => Promise<DemoEnv>),
  suite: (stage: () => OwnStage) => void,
  prepare?: (dataFolder: string) => Promise<void>,
): void {
  describe.skipIf(isChromiumMissing)(titleInBrowser(name), () => {
    let stage: OwnStage
    beforeAll(async () => {
      const demo = await keepDemo(
        { pageFolder: inject('pageFolder'), nodeOptions: inject('nodeOptions'), ...(prepare && { prepare }) },
        typeof env === 'function' ? await env() : env,
      )
      stage = { demo, ...stageAt(demo.url) }
    })
    afterAll(() => stage.demo.stop())
    suite(() => stage)
  })
}

/** Defines a suite in a real browser with a server in this process that shows recorded sessions. */
export function describeRecorded(name: string, suite: (recording: () => Recording) => void): void {
  describe.skipIf(isChromiumMissing)(titleInBrowser(name), () => {
    let recording: Recording
    beforeAll(async () => {
      recording = await openRecording(inject('pageFolder'))
    })
    afterAll(() => recording.close())
    suite(() => recording)
  })
}
