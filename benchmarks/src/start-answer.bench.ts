import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { publishedPackages } from '../../scripts/packages.mjs'
import { startRegistry } from '../../scripts/release-registry.mjs'
import { nodeBinary, root } from '../../scripts/setup.mjs'
import type { Bench } from './harness.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

/** Never the synchronous one: the registry answers from this process. */
const execute = promisify(execFile)

const page = readFileSync(join(root, 'docs/quick-start.md'), 'utf8')

export const bench: Bench = {
  title: 'From nothing to the first durable answer',
  text: [
    'Seconds of the machine for `docs/quick-start.md`: its `npm install` line in an empty folder, then the program of step 2. Reading and copying come',
    'on top (wanted: 180 in all). Our packages come packed from a registry on loopback, all others from the registry of the machine. *Cold*: a new home',
    'folder, without a cache of npm; *warm*: the same once more. One run of each.',
  ].join('\n'),
  run: () =>
    withTemporaryFolder(async (folder) => {
      const registry = await startRegistry(join(folder, 'registry'))
      try {
        const env = environment(join(folder, 'home'), registry.npmrc)
        for (const { tarball } of publishedPackages()) await execute('npm', ['publish', '--provenance=false', tarball], { env })
        const cold = await seconds(() => quickStart(join(folder, 'cold'), env))
        const warm = await seconds(() => quickStart(join(folder, 'warm'), env))
        return { head: ['what', 'cold', 'warm'], rows: [['until step 2 of the quick start has ended', cold, warm]] }
      } finally {
        await registry.close()
      }
    }),
}

/** Environment of a new user: a home folder that knows the registries, and Node. */
function environment(home: string, ownNpmrc: string): NodeJS.ProcessEnv {
  mkdirSync(home, { recursive: true })
  const setting = (name: string): string => execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim()
  const cafile = setting('cafile')
  writeFileSync(
    join(home, '.npmrc'),
    `${ownNpmrc}registry=${setting('registry')}\n${existsSync(cafile) ? `cafile=${cafile}\n` : ''}update-notifier=false\n`,
  )
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:npm|pnpm|xdg)_/i.test(name))
  return { ...Object.fromEntries(inherited), HOME: home, PATH: `${dirname(nodeBinary)}:${process.env['PATH'] ?? ''}` }
}

async function quickStart(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const [, install = ''] = /^(npm install .*)$/m.exec(page) ?? []
  const programs = [...page.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = '']) => code)
  writeFileSync(join(folder, 'example.mts'), programs[1] ?? '')
  await execute('sh', ['-c', `npm init -y && ${install}`], { cwd: folder, env })
  const { stdout } = await execute('node', ['example.mts'], { cwd: folder, env })
  if (!stdout.includes('Your name is Ada.')) throw new Error(`Step 2 printed another answer: ${stdout}`)
}

async function seconds(work: () => Promise<void>): Promise<string> {
  const start = performance.now()
  await work()
  return ((performance.now() - start) / 1000).toFixed(0)
}
