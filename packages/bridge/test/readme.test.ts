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
const docs = join(folder, '../../docs')

/** A server entry in the configuration of an MCP host. */
interface HostEntry {
  readonly command: string
  readonly args: readonly string[]
}

/** The blocks of JSON of a page. */
async function jsonBlocks(file: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return [...(await readFile(file, 'utf8')).matchAll(/```json\n([\s\S]*?)```/g)].map(
    ([, text = '']) => JSON.parse(text) as Record<string, unknown>,
  )
}

describe('README', () => {
  it('its example runs unchanged and has at most 15 lines', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
    expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(15)
    const run = spawnSync(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', code], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(run.stdout).toBe('Nothing is wrong with "Tie the knot.".\n')
    expect(run.status).toBe(0)
  })

  it.each(['packages/bridge/README.md', 'docs/guides/mcp.md'])('the JSON configuration of %s is valid', async (file) => {
    const blocks = await jsonBlocks(join(folder, '../..', file))
    const { workers } = blocks.find((each) => 'workers' in each) as { readonly workers: Parameters<typeof workerExecutor>[0]['workers'] }
    expect(workerExecutor({ workers }).agents()).toMatchObject([{ id: 'reviewer' }])
  })
})

describe('the documentation', () => {
  it('the command lines for MCP hosts are valid', async () => {
    const blocks = await jsonBlocks(join(docs, 'cookbook/mcp-host.md'))
    for (const key of ['mcpServers', 'servers', 'context_servers']) {
      const block = blocks.find((each) => typeof each[key] === 'object' && !Array.isArray(each[key])) ?? {}
      const { command, args } = (block[key] as { readonly bowline: HostEntry }).bowline
      expect([command, args[0], args[2]]).toEqual(['npx', '--prefix', 'bowline-bridge'])
      expect(readCommandLine(args.slice(3), {})).toMatchObject({ command: 'serve', configFile: expect.stringContaining('bowline.bridge.') })
    }
  })

  it('shows an error as it is sent', async () => {
    const blocks = await jsonBlocks(join(docs, 'guides/mcp.md'))
    const { error } = blocks.find((each) => 'error' in each) as { readonly error: object }
    expect(errorBody(withFacts(missingAgent('nobody', ['reviewer']), { sessionValid: false }))).toEqual(error)
  })

  it('B121: the table of errors lists each code, whether a retry helps, and what to do next, as in the code', async () => {
    const page = await readFile(join(docs, 'errors.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| .+ \| (yes|no)(?:, [^|]+)? \| (.+) \|$/gm)].map(([, code, retryable, next]) => [
      code,
      { retryable: retryable === 'yes', next },
    ])
    expect(rows).toHaveLength(Object.keys(errorTable).length)
    expect(Object.fromEntries(rows)).toEqual(errorTable)
  })

  it('names every tool', async () => {
    const page = await readFile(join(docs, 'guides/mcp.md'), 'utf8')
    for (const { name } of bridgeTools) expect(page).toContain(`\`${name}\``)
  })
})
