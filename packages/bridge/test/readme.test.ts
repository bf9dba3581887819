import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'
import { readCommandLine } from '../src/bin/command-line.ts'
import { errorBody, withFacts } from '../src/error-body.ts'
import { errorTable } from '../src/errors.ts'
import { workerExecutor } from '../src/index.ts'
import { bridgeTools } from '../src/mcp/tools.ts'
import { missingAgent } from '../src/missing-agent.ts'

const folder = join(import.meta.dirname, '..')

/** A server entry in the configuration of an MCP host. */
interface HostEntry {
  readonly command: string
  readonly args: readonly string[]
}

async function jsonBlocks(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const readme = await readFile(join(folder, 'README.md'), 'utf8')
  return [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => JSON.parse(text) as Record<string, unknown>)
}

async function codeBlocks(): Promise<readonly string[]> {
  const readme = await readFile(join(folder, 'README.md'), 'utf8')
  return [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text)
}

/** Returns one statement per line, without indentation. */
function statementsOf(code: string): string {
  const lines = code.replace('export default ', 'return ').split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '' && !line.startsWith('import ')).join('\n')
}

describe('README', () => {
  it('its first example runs as it stands and has at most 15 lines', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
    expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(15)
    const run = spawnSync(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', code], { cwd: folder, encoding: 'utf8' })
    expect(run.stdout).toBe('Nothing is wrong with "Tie the knot.".\n')
    expect(run.status).toBe(0)
  })

  it('its example of a conversation runs as it stands', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const code = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text).find((text) => text.includes('createSession')) ?? ''
    const run = spawnSync(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', code], { cwd: folder, encoding: 'utf8' })
    expect(run.stdout).toBe('awaiting-approval\nDone.\n')
    expect(run.status).toBe(0)
  })

  it('its other examples have their types checked', async () => {
    const checked = statementsOf(await readFile(join(import.meta.dirname, 'fixtures/readme-examples.ts'), 'utf8'))
    const others = (await codeBlocks()).filter((code) => !/createBridge|serveWorker/.test(code))
    expect(others).toHaveLength(7)
    for (const code of others) expect(checked).toContain(statementsOf(code))
  })

  it('what hosts of MCP are told to start is a command line that is understood', async () => {
    const blocks = await jsonBlocks()
    for (const key of ['mcpServers', 'servers', 'context_servers']) {
      const block = blocks.find((each) => typeof each[key] === 'object' && !Array.isArray(each[key])) ?? {}
      const { command, args } = (block[key] as { readonly bowline: HostEntry }).bowline
      expect([command, ...args.slice(0, 4)]).toEqual(['npx', '-y', '-p', '@bowline/bridge', 'bowline-bridge'])
      expect(readCommandLine(args.slice(4), {})).toMatchObject({ command: 'serve', configFile: expect.stringContaining('bowline.bridge.json') })
    }
  })

  it('its configuration in JSON is one, and its error is an envelope', async () => {
    const blocks = await jsonBlocks()
    const { workers } = blocks.find((each) => 'workers' in each) as { readonly workers: Parameters<typeof workerExecutor>[0]['workers'] }
    expect(workerExecutor({ workers }).agents()).toMatchObject([{ id: 'reviewer' }])
    const { error } = blocks.find((each) => 'error' in each) as { readonly error: object }
    expect(errorBody(withFacts(missingAgent('nobody', ['reviewer']), { sessionValid: false }))).toEqual(error)
  })

  it('B121: its table of errors has each code, whether a repeat helps, and what to do next, as the code has it', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const rows = [...readme.matchAll(/^\| `([A-Z_]+)` \| .+ \| (yes|no)(?:, [^|]+)? \| (.+) \|$/gm)].map(([, code, retryable, next]) => [code, { retryable: retryable === 'yes', next }])
    expect(rows).toHaveLength(Object.keys(errorTable).length)
    expect(Object.fromEntries(rows)).toEqual(errorTable)
  })

  it('it names every tool', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    for (const { name } of bridgeTools) expect(readme).toContain(`\`${name}\``)
  })
})
