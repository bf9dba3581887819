import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

/** Loaded first: a process in which the protocol packages are not installed. */
const hook = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^@(modelcontextprotocol|agentclientprotocol)\\//.test(specifier)) return next(specifier, context)
      throw Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })`

const withoutPackages = `--import=data:text/javascript,${encodeURIComponent(hook)}`

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function node(folder: string, ...args: string[]): Promise<Ended> {
  const running = promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', withoutPackages, ...args], {
    cwd: folder,
  })
  return running.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as Ended
      return { code, stdout, stderr }
    },
  )
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bowline-missing-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

const bridge = (folder: string, ...args: string[]) => node(folder, join(import.meta.dirname, '../src/bin/bowline-bridge.ts'), ...args)

it('B1: workers without the package of their protocol are CONFIG with the command that installs it', async () => {
  const script = `
    const { createBridge, workerExecutor } = await import('@bowline/bridge')
    const bridge = createBridge({ executors: [workerExecutor({ workers: [{ id: 'reviewer', command: 'node' }] })] })
    await bridge.start().catch(({ code, message }) => console.log(code, message))`
  const { stdout } = await node(join(import.meta.dirname, '..'), '--input-type=module', '--eval', script)
  expect(stdout).toBe('CONFIG workerExecutor needs the package @agentclientprotocol/sdk; run: npm install @agentclientprotocol/sdk\n')
})

it('B111: bowline-bridge without the packages of MCP says how to install them, before it starts anything, and exits with 2', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'bowline.bridge.js'), "console.log('loaded')\nexport default {}")
  const overStdio = await bridge(folder)
  expect(overStdio).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'bowline-bridge: serving MCP over stdio needs the package @modelcontextprotocol/server; run: npm install @modelcontextprotocol/server\n',
  })
  const packages = '@modelcontextprotocol/server @modelcontextprotocol/node'
  const overHttp = await bridge(folder, '--http', '127.0.0.1:0')
  expect(overHttp).toEqual({
    code: 2,
    stdout: '',
    stderr: `bowline-bridge: serving MCP over HTTP needs the package @modelcontextprotocol/node; run: npm install ${packages}\n`,
  })
})

it('B122: check runs without the packages of MCP, and exits with 2 if a worker needs the package of its protocol', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'bowline.bridge.js'), 'export default {}')
  expect(await bridge(folder, 'check')).toMatchObject({ code: 1, stdout: 'There are no agents\n' })
  expect(await bridge(folder, '--worker', 'reviewer=node reviewer.js', 'check')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'bowline-bridge: workerExecutor needs the package @agentclientprotocol/sdk; run: npm install @agentclientprotocol/sdk\n',
  })
})
