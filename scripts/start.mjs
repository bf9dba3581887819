import { join } from 'node:path'
import { runInForeground } from './foreground.mjs'
import { ensureInstalled, nodeBinary, root } from './setup.mjs'

ensureInstalled()
// Starts the demo directly: a package manager in between would swallow signals and cost a second. With the compile cache, each
// start of the server, also after a kill, takes a quarter less time.
const env = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/bowline/compiled'), ...process.env }
runInForeground(nodeBinary, ['apps/demo/src/supervisor.ts', ...process.argv.slice(2)], { cwd: root, env })
