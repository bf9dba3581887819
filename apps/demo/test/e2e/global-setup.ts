import type { TestProject } from 'vitest/node'
import { isChromiumMissing } from '../../../../scripts/chromium.ts'
import { buildPage } from '@bowline/studio/build-page'
import { keepDemo } from './kept-demo.ts'

declare module 'vitest' {
  interface ProvidedContext {
    pageFolder: string
    /** Address of a server without delays, for all tests that need no other one. */
    demoUrl: string
  }
}

/** Starts the parts that all suites share. */
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (isChromiumMissing) return undefined
  const pageFolder = await buildPage()
  const demo = await keepDemo({ pageFolder, nodeOptions: project.getProvidedContext().nodeOptions })
  project.provide('pageFolder', pageFolder)
  project.provide('demoUrl', demo.url)
  return () => demo.stop()
}
