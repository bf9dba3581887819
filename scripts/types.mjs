// node scripts/types.mjs: checks the types of all programs of the repository. What lints reads types with TypeScript 6, so both
// versions see the sources.
import { compile } from './native-compiler.mjs'

const programs = [
  'tsconfig.json',
  'packages/client/tsconfig.json',
  'packages/client/tsconfig.browser.json',
  'packages/agent-loop/tsconfig.browser.json',
  'apps/demo/src/page/tsconfig.json',
  'apps/demo/test/e2e/tsconfig.json',
]

for (const program of programs) if (!compile(['--noEmit', '-p', program])) process.exitCode = 1
