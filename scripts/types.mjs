// node scripts/types.mjs: checks the types of all programs of the repository, including those in the documentation. The linters use
// TypeScript 6, so both versions check the sources.
import { writeDocsPrograms } from './docs-programs.mjs'
import { compile } from './native-compiler.mjs'

const programs = [
  'tsconfig.json',
  'packages/client/tsconfig.json',
  'packages/client/tsconfig.browser.json',
  'packages/agent-loop/tsconfig.browser.json',
  'apps/studio/src/page/tsconfig.json',
  'apps/demo/test/e2e/tsconfig.json',
  'examples/browser-tools/tsconfig.json',
  'examples/nextjs-chat/tsconfig.json',
  'apps/site/tsconfig.json',
]

// Several checkers compute shared types repeatedly. One takes four fifths of the CPU time of four.
const checkers = ['--checkers', '1']

writeDocsPrograms()
for (const program of programs) if (!compile(['--noEmit', ...checkers, '-p', program])) process.exitCode = 1
