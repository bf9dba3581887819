import { existsSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { temporaryFolder } from './scripts/temporary-files.ts'
import { rounds } from './scripts/test-length.ts'

const packages = ['llm', 'agent-loop', 'sessions', 'postgres', 'redis', 'restate', 'bridge', 'server', 'client', 'testing']

/** Setup that bundles the programs that tests start. */
const startsPrograms = { globalSetup: fileURLToPath(new URL('scripts/test-programs.mjs', import.meta.url)) }

/** Setup that also starts a Postgres server when the first test asks for a database. */
const usesPostgres = {
  globalSetup: [startsPrograms.globalSetup, fileURLToPath(new URL('scripts/postgres/test-setup.ts', import.meta.url))],
}

/** Workers that a bridge test starts in its own process also run bundled programs. */
const bundledWorkers = {
  alias: { '../../worker/program-file.ts': fileURLToPath(new URL('packages/bridge/test/programs.ts', import.meta.url)) },
}

const sharedMemory = '/dev/shm'
const smallestMemoryBytes = 2 ** 31

/** Keeps temporary files in memory if there is enough: no wait for the disk, also with the remains of a killed process. */
function temporaryFiles(): { readonly TMPDIR?: string } {
  if (!existsSync(sharedMemory)) return {}
  const { bavail, bsize } = statfsSync(sharedMemory)
  if (bavail * bsize < smallestMemoryBytes) return {}
  return { TMPDIR: temporaryFolder(join(sharedMemory, 'bowline-tests')) }
}

function project(name: string, root: string, options: object = {}) {
  return { extends: true as const, test: { name, root, include: ['test/**/*.test.{ts,tsx}'], ...options } }
}

export default defineConfig({
  test: {
    projects: [
      ...packages.map((name) =>
        project(name, `packages/${name}`, {
          ...startsPrograms,
          ...(name === 'bridge' && bundledWorkers),
          ...(['sessions', 'postgres', 'restate', 'server', 'testing'].includes(name) && usesPostgres),
        }),
      ),
      project('scripts', 'scripts', usesPostgres),
      project('benchmarks', 'benchmarks'),
      project('examples', 'examples', usesPostgres),
      project('studio', 'apps/studio'),
      project('demo', 'apps/demo', { ...usesPostgres, exclude: ['test/e2e/**'] }),
      project('demo-e2e', 'apps/demo', {
        include: ['test/e2e/**/*.test.{ts,tsx}'],
        globalSetup: [...usesPostgres.globalSetup, join(import.meta.dirname, 'apps/demo/test/e2e/global-setup.ts')],
        // Runs one browser and one server at a time, so that measured work does not compete with other work.
        fileParallelism: false,
        // Number of concurrent tests that the browser and a server can serve on two cores.
        maxConcurrency: 3,
        testTimeout: 60_000,
        hookTimeout: 60_000,
      }),
    ],
    // Tests must not depend on module state: files share workers and loaded code, which saves a third of the time.
    isolate: false,
    setupFiles: [fileURLToPath(new URL('scripts/test-cost.ts', import.meta.url))],
    // With a large young generation from the start, the tests take an eighth less time.
    execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64'],
    env: temporaryFiles(),
    // More than cores, because many tests wait for another process or a timer.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Much more than any test needs, because the machine may be busy.
    testTimeout: rounds({ short: 60_000, long: 3_600_000 }),
    hookTimeout: 30_000,
    // By default a poll gives up after one second.
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default', './scripts/vitest-summary-reporter.mjs'],
    coverage: {
      provider: 'v8',
      // Relative to each project: the coverage of a package is what its own tests reach.
      include: ['src/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
      reportOnFailure: true,
    },
  },
})
