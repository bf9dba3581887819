import { existsSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { temporaryFolder } from './scripts/temporary-files.ts'
import { rounds } from './scripts/test-length.ts'

const packages = ['llm', 'agent-loop', 'sessions', 'bridge', 'server', 'client']

/** Bundles what its tests start as programs. */
const startsPrograms = { globalSetup: fileURLToPath(new URL('scripts/test-programs.mjs', import.meta.url)) }

/** The same, and the first test that asks for a database starts a Postgres server. */
const usesPostgres = { globalSetup: [startsPrograms.globalSetup, fileURLToPath(new URL('scripts/postgres/test-setup.ts', import.meta.url))] }

/** Workers that a test of the bridge starts in its own process run bundled programs too. */
const bundledWorkers = {
  alias: { '../../worker/program-file.ts': fileURLToPath(new URL('packages/bridge/test/programs.ts', import.meta.url)) },
}

const sharedMemory = '/dev/shm'
const smallestMemoryBytes = 2 ** 31

/** Keeps temporary files in memory where there is room: no wait for the disk, also for what a killed process leaves. */
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
      ...packages.map((name) => project(name, `packages/${name}`, { ...startsPrograms, ...(name === 'bridge' && bundledWorkers), ...(['sessions', 'server'].includes(name) && usesPostgres) })),
      project('scripts', 'scripts', usesPostgres),
      project('benchmarks', 'benchmarks'),
      project('examples', 'examples', usesPostgres),
      project('studio', 'apps/studio'),
      project('demo', 'apps/demo', { ...usesPostgres, exclude: ['test/e2e/**'] }),
      project('demo-e2e', 'apps/demo', {
        include: ['test/e2e/**/*.test.{ts,tsx}'],
        globalSetup: [...usesPostgres.globalSetup, join(import.meta.dirname, 'apps/demo/test/e2e/global-setup.ts')],
        // One browser and one server at a time: what is measured must not compete with itself.
        fileParallelism: false,
        // Of tests that may run beside each other, as many as the browser and a server can serve on two cores.
        maxConcurrency: 3,
        testTimeout: 60_000,
        hookTimeout: 60_000,
      }),
    ],
    // Module state is nobody's: files share workers and what they have loaded, which saves a third of the time.
    isolate: false,
    // With room for what they soon forget, from the start, the tests take an eighth less time.
    execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64'],
    env: temporaryFiles(),
    // More than cores: many tests wait for another process or for a timer.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Far over what any test needs: a busy machine is no failure.
    testTimeout: rounds({ short: 60_000, long: 3_600_000 }),
    hookTimeout: 30_000,
    reporters: ['default', './scripts/vitest-summary-reporter.mjs'],
    coverage: {
      provider: 'v8',
      // Seen from each project: a package's coverage is what its own tests reach.
      include: ['src/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
      reportOnFailure: true,
    },
  },
})
