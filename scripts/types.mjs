// node scripts/types.mjs: checks the types of all programs of the repository, those in the documentation included. What lints reads types with TypeScript 6, so both
// versions see the sources.
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

// Each checker works out for itself what the files have in common: one takes four fifths of the CPU time of four.
const checkers = ['--checkers', '1']

writeDocsPrograms()
for (const program of programs) if (!compile(['--noEmit', ...checkers, '-p', program])) process.exitCode = 1
