import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup-package.mjs'

const build = packageBuild(import.meta.dirname)

export default defineConfig({
  ...build,
  entry: {
    ...(build.entry as Record<string, string>),
    // Programs that the worker executor starts.
    'executors/worker/guard': './src/executors/worker/guard.ts',
    'worker/start-entry': './src/worker/start-entry.ts',
  },
})
