import { runInForeground } from './foreground.mjs'
import { ensureInstalled, nodeBinary, root } from './setup.mjs'

ensureInstalled()
// Straight to the demo: a package manager in between would swallow signals and cost a second.
runInForeground(nodeBinary, ['apps/demo/src/supervisor.ts', ...process.argv.slice(2)], { cwd: root })
