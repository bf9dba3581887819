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

/** The one browser of all suites: they share a process, with whose end it ends. */
function sharedBrowser(): Promise<Browser> {
  browser ??= chromium.launch(chromiumOptions)
  return browser
}

export interface Visit {
  readonly viewport?: { readonly width: number; readonly height: number }
  readonly colorScheme?: 'light' | 'dark'
  /** Pixels of the screen for one of the page: 2 is what a zoom of 200 % makes of half the window. Default 1. */
  readonly deviceScaleFactor?: number
  /** The time of the page as it opens, in ms since 1970, in UTC. Default: the real one. */
  readonly now?: number
  /** The server is killed on purpose: broken connections in the console are no complaint. */
  readonly killed?: boolean
  /** The tab has never shown the page, and shows it to no other test. Default: it may have, without anything of that left but what is compiled. */
  readonly fresh?: boolean
}

/** Opens the page in tabs of readers, each with cookies of its own. */
export interface Stage {
  readonly url: string
  /** Opens a tab for `test`, and expects that the console has stayed clean. */
  visit(test: (tab: DemoPage) => Promise<void>, options?: Visit): Promise<void>
}

export interface OwnStage extends Stage {
  readonly demo: KeptDemo
}

/** Tabs of the page at this address. */
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

/** A test of what a page can do with a server of ours. Without a browser it is skipped, and says so. */
export function testInBrowser(name: string, test: (browser: Browser) => Promise<void>): void {
  it.skipIf(isChromiumMissing)(titleInBrowser(name), async () => test(await sharedBrowser()))
}

/** A suite in a real browser on the server that all suites share. */
export function describeInBrowser(name: string, suite: (stage: Stage) => void): void {
  describe.skipIf(isChromiumMissing)(titleInBrowser(name), () => suite(stageAt(isChromiumMissing ? '' : inject('demoUrl'))))
}

/** A suite in a real browser with a server of its own. `prepare` fills its data folder before it starts. */
export function describeWithServer(
  name: string,
  env: DemoEnv | (() => Promise<DemoEnv>),
  suite: (stage: () => OwnStage) => void,
  prepare?: (dataFolder: string) => Promise<void>,
): void {
  describe.skipIf(isChromiumMissing)(titleInBrowser(name), () => {
    let stage: OwnStage
    beforeAll(async () => {
      const demo = await keepDemo({ pageFolder: inject('pageFolder'), nodeOptions: inject('nodeOptions'), ...(prepare && { prepare }) }, typeof env === 'function' ? await env() : env)
      stage = { demo, ...stageAt(demo.url) }
    })
    afterAll(() => stage.demo.stop())
    suite(() => stage)
  })
}

/** A suite in a real browser before a server in this process that shows recorded sessions. */
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
