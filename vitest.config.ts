import { defineConfig } from 'vitest/config'

const packages = ['llm', 'agent-loop', 'sessions', 'bridge', 'server', 'client']

function project(name: string, root: string, options: object = {}) {
  return { test: { name, root, include: ['test/**/*.test.{ts,tsx}'], ...options } }
}

export default defineConfig({
  test: {
    projects: [
      ...packages.map((name) => project(name, `packages/${name}`)),
      project('scripts', 'scripts', { testTimeout: 30_000 }),
      project('benchmarks', 'benchmarks'),
      project('demo', 'apps/demo', { exclude: ['test/e2e/**'] }),
      project('demo-e2e', 'apps/demo', {
        include: ['test/e2e/**/*.test.{ts,tsx}'],
        // One browser and one server at a time: what is measured must not compete with itself.
        fileParallelism: false,
        testTimeout: 60_000,
        hookTimeout: 60_000,
      }),
    ],
    reporters: ['default', './scripts/vitest-summary-reporter.mjs'],
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**', 'apps/demo/src/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
      reportOnFailure: true,
    },
  },
})
