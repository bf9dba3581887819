import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/bench.ts'
import { agentsFile } from '../support/command.ts'
import { withoutPackages } from '../support/without-packages.ts'

const command = join(import.meta.dirname, '../../src/bin/bowline-server.ts')

/** Returns the exit code and stderr of a command that ends by itself. */
async function run(folder: string, ...args: string[]): Promise<{ readonly code: number; readonly stderr: string }> {
  const all = [...withoutPackages, command, ...args, '--agents', agentsFile, '--auth', 'none']
  const { code, stderr } = await promisify(execFile)(process.execPath, all, { cwd: folder }).then(
    (ended) => ({ code: 0, ...ended }),
    (error: unknown) => error as { readonly code: number; readonly stderr: string },
  )
  return { code, stderr }
}

it.each(['start', 'check'])('V86: %s with a Postgres store without its package is an error that names the package', async (name) => {
  expect(await run(temporaryFolder(), name, '--store', 'postgres://127.0.0.1:1/none')).toEqual({
    code: 2,
    stderr: 'bowline-server: store: needs the package @bowline/postgres; run: npm install @bowline/postgres pg\n',
  })
})

it.each(['start', 'check'])('V81: %s with a bridge without the package of MCP is an error that names the package', async (name) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'bowline.config.json'), JSON.stringify({ bridge: { agents: ['assistant'] } }))
  expect(await run(folder, name, '--port', '0')).toEqual({
    code: 2,
    stderr: 'bowline-server: bridge: needs the package @modelcontextprotocol/server; run: npm install @modelcontextprotocol/server\n',
  })
})
