import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { chromiumOptions, isChromiumMissing } from '../../../../scripts/chromium.ts'
import { buildPage } from '@bowline/studio/build-page'
import { keepDemo } from './kept-demo.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the one browser of all suites listens. Absent on a machine without Chromium. */
    browserEndpoint?: string
    pageFolder: string
    /** A server without delays, for all that needs no other one. */
    demoUrl: string
  }
}

/** Starts what all suites share. */
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (isChromiumMissing) return undefined
  const pageFolder = await buildPage()
  const [browser, demo] = await Promise.all([chromium.launchServer(chromiumOptions), keepDemo({ pageFolder, nodeOptions: project.getProvidedContext().nodeOptions })])
  project.provide('browserEndpoint', browser.wsEndpoint())
  project.provide('pageFolder', pageFolder)
  project.provide('demoUrl', demo.url)
  return async () => {
    await Promise.all([browser.close(), demo.stop()])
  }
}
