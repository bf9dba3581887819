import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of this process while the file was loaded and tested, in ms. Programs that its tests start are not in it. */
    cpuMs?: number
  }
}

const before = process.cpuUsage()

// Each worker runs one file at a time, and this file before each of them.
// oxlint-disable-next-line no-empty-pattern -- the runner reads from the pattern what the hook wants
afterAll(({}, suite) => {
  const { user, system } = process.cpuUsage(before)
  suite.file.meta.cpuMs = (user + system) / 1000
})
