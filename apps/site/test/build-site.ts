import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Builds the site once for all tests. */
export default async function buildSite(): Promise<void> {
  const folder = join(import.meta.dirname, '..')
  // With the environment of a test, Vue would be built in development mode.
  const env = { ...process.env, NODE_ENV: 'production' }
  const vitepress = spawn(join(folder, 'node_modules/.bin/vitepress'), ['build'], { cwd: folder, env, stdio: 'inherit' })
  const [code] = await once(vitepress, 'close')
  if (code !== 0) throw new Error('The site was not built. The lines above say why.')
}
