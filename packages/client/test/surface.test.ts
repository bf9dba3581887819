import { gzipSync } from 'node:zlib'
import type { AgentEvent } from '@bowline/agent-loop/events'
import { build } from 'esbuild'
import { describe, expect, expectTypeOf, it } from 'vitest'
import * as admin from '../src/admin.ts'
import * as chat from '../src/chat.ts'
import * as root from '../src/index.ts'
import * as react from '../src/react.ts'

const source = (file: string): string => new URL(`../src/${file}`, import.meta.url).pathname

async function bundle(contents: string): Promise<{ gzipBytes: number; inputs: string[] }> {
  const result = await build({
    stdin: { contents, resolveDir: source('.') },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    external: ['react', 'ai'],
    metafile: true,
    write: false,
    logLevel: 'silent',
  })
  return { gzipBytes: gzipSync(result.outputFiles[0]?.contents ?? '').length, inputs: Object.keys(result.metafile.inputs) }
}

const everything = "export * from './index.ts'; export { reduceEvents } from '@bowline/agent-loop/events'"

describe('surface', () => {
  it('exports the intended names', () => {
    expect(Object.keys(root).sort()).toEqual(['ClientError', 'createClient', 'foldEvent'])
    expect(Object.keys(admin)).toEqual(['createAdmin'])
    expect(Object.keys(chat)).toEqual(['createChatClient'])
    expect(Object.keys(react).sort()).toEqual(['useEvents', 'useSession'])
  })

  it('C2: a reader gets the events of agent-loop, and each call resolves to its wire type', () => {
    type Session = ReturnType<root.Client['session']>
    expectTypeOf<AgentEvent>().toExtend<root.ClientEvent>()
    expectTypeOf<Exclude<root.ClientEvent, AgentEvent>['type']>().toEqualTypeOf<'unknown' | 'resync'>()
    expectTypeOf<Session['submitToolResults']>().returns.resolves.toEqualTypeOf<root.SubmissionReceipt>()
    expectTypeOf<Session['stop']>().returns.resolves.toEqualTypeOf<root.StopReceipt>()
    expectTypeOf<Session['approve']>().returns.resolves.toEqualTypeOf<root.ApprovalReceipt>()
    expectTypeOf<Session['deny']>().returns.resolves.toEqualTypeOf<root.ApprovalReceipt>()
    expectTypeOf<Session['state']>().returns.resolves.toEqualTypeOf<root.SessionView>()
    expectTypeOf<root.TransportFrame['type']>().toEqualTypeOf<'execute-complete' | 'stream-end' | 'stream-error'>()
  })

  it('C1: no Node built-in, and under 15 kB min+gz with reduceEvents', async () => {
    // A Node built-in cannot be resolved for a browser.
    const { gzipBytes, inputs } = await bundle(everything)
    expect(gzipBytes).toBeLessThan(15_000)
    expect(inputs.filter((input) => input.includes('node_modules'))).toEqual([])
  })

  it('C1: the chat client is under 6 kB without the AI SDK, and imports no library', async () => {
    const { gzipBytes, inputs } = await bundle("export * from './chat.ts'")
    expect(gzipBytes).toBeLessThan(6_000)
    expect(inputs.filter((input) => input.includes('node_modules'))).toEqual([])
  })

  it('C1: the admin client is under 6 kB, and imports no library and nothing that reads streams', async () => {
    const { gzipBytes, inputs } = await bundle("export * from './admin.ts'")
    expect(gzipBytes).toBeLessThan(6_000)
    expect(inputs.filter((input) => /node_modules|session\.ts|request-checks|run\.ts|event-stream/.test(input))).toEqual([])
  })

  it('C1: react adds under 3 kB', async () => {
    const core = await bundle(everything)
    const both = await bundle(`${everything}; export * from './react.ts'`)
    expect(both.gzipBytes - core.gzipBytes).toBeLessThan(3_000)
  })
})

it('a value that throws when it is inspected is not a ClientError', () => {
  const hostile = new Proxy(
    {},
    {
      has() {
        throw new Error('looked at')
      },
    },
  )
  expect(root.ClientError.isInstance(hostile)).toBe(false)
})
