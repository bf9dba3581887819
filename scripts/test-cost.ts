import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of this process while the file was loaded and tested, in ms. Programs that its tests start are not in it. */
    cpuMs?: number
    /** Processor time of `referenceWork` in ms. It tells how fast the machine is while the file is tested. */
    referenceMs?: number
  }
}

const before = process.cpuUsage()

function msSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

function referenceWork(): void {
  const record = { id: 'run_1', texts: Array.from({ length: 20 }, (_, index) => `text ${index}`) }
  for (let round = 0; round < 400; round++) JSON.parse(JSON.stringify(record))
}

// Each worker runs one file at a time, and this file before each of them.
// oxlint-disable-next-line no-empty-pattern -- the runner reads from the pattern what the hook wants
afterAll(({}, suite) => {
  suite.file.meta.cpuMs = msSince(before)
  const start = process.cpuUsage()
  referenceWork()
  suite.file.meta.referenceMs = msSince(start)
})
