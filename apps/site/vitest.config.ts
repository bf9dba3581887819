import { defineConfig } from 'vitest/config'

// No project of the root: its tests read the built site, and the site takes the API reference of another gate.
export default defineConfig({
  test: {
    globalSetup: './test/build-site.ts',
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', '../../scripts/vitest-summary-reporter.mjs'],
  },
})
