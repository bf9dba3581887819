import { defineConfig } from 'vitest/config'

// Not a project of the root: its tests read the built site, which needs the API reference of another gate.
export default defineConfig({
  test: {
    globalSetup: './test/build-site.ts',
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', '../../scripts/vitest-summary-reporter.mjs'],
  },
})
