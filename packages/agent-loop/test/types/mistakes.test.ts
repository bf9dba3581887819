import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import type * as TypeScript from 'typescript'

const folder = join(import.meta.dirname, '../..')

const right = [
  `defineTool({ ...facts, execute: ({ city }) => ({ city, days: [{ high: 1 }] }) })`,
  `defineTool({ ...facts, execute: async () => {} })`,
  `defineTool({ ...facts, execute: async () => forecast })`,
  `defineTool({ ...facts, execute: () => ({ output: 'sunny', details: { n: 1 } }), toModelOutput: ({ details }) => ({ type: 'json', value: details?.n ?? 0 }) })`,
  `defineTool({ ...facts, async *execute() { yield 'a'; yield { type: 'complete', output: forecast.days } } })`,
  `adoptTool({ from: sdkTool, name: 'w', effect: 'pure', needsApproval: ({ city }) => city === '' })`,
  `{ const typed: Agent = defineAgent({ model, tools: [defineTool({ name: 'typed', ...untitled, execute: () => forecast })], subagents: [defineAgent({ model, tools: { sdkTool } })] }) }`,
  `{ const listed: Readonly<Record<string, Agent>> = { one: defineAgent({ model, tools: [] }), two: defineAgent({ model, tools: { sdkTool } }) } }`,
]

/** Mistakes of a user, with the message that a compiler must give. */
const mistakes: readonly (readonly [what: string, code: string, ...said: string[]])[] = [
  [
    'a field that the schema lacks',
    `defineTool({ ...facts, execute: ({ town }) => town })`,
    `Property 'town' does not exist on type '{ city: string; }'`,
  ],
  [
    'a parameter of another type',
    `defineTool({ ...facts, execute: (input: { city: number }) => String(input.city) })`,
    `Types of property 'city' are incompatible`,
    `Type 'string' is not assignable to type 'number'`,
  ],
  ['no description', `defineTool({ name: 'w', inputSchema, execute: ({ city }) => city })`, `Property 'description' is missing`],
  ['no inputSchema', `defineTool({ name: 'w', description: 'x', execute: () => 'x' })`, `Property 'inputSchema' is missing`],
  ['no name', `defineTool({ description: 'x', inputSchema, execute: () => 'x' })`, `Property 'name' is missing`],
  [
    'the option of an older AI SDK',
    `defineTool({ name: 'w', description: 'x', parameters: inputSchema, execute: () => 'x' })`,
    `'parameters' does not exist in type 'ToolOptions<`,
  ],
  ['a misspelled option', `defineTool({ ...facts, timeout: 3, execute: () => 'x' })`, `Did you mean to write 'timeoutMs'?`],
  [
    'an unknown effect',
    `defineTool({ ...facts, effect: 'twice', execute: () => 'x' })`,
    `Type '"twice"' is not assignable to type 'ToolEffect'`,
  ],
  [
    'a date',
    `defineTool({ ...facts, execute: () => ({ born: new Date() }) })`,
    `Types of property 'born' are incompatible`,
    `'Date'`,
    `'NotJson'`,
  ],
  [
    'a date in a promise',
    `defineTool({ ...facts, execute: async () => ({ born: new Date() }) })`,
    `Types of property 'born' are incompatible`,
    `'Date'`,
    `'NotJson'`,
  ],
  [
    'a bigint as output',
    `defineTool({ ...facts, execute: async () => ({ output: 1n }) })`,
    `Types of property 'output' are incompatible`,
    `Type 'bigint' is not assignable to type 'NotJson'`,
  ],
  ['a function', `defineTool({ ...facts, execute: () => ({ run: () => 1 }) })`, `Types of property 'run' are incompatible`, `'NotJson'`],
  ['a chunk that is none', `defineTool({ ...facts, async *execute() { yield 7 } })`, `Type 'number' is not assignable to type 'ToolChunk<`],
  ['a tool of the AI SDK', `defineTool({ ...facts, from: sdkTool })`, `'from' does not exist in type 'ToolOptions<`],
  ['a tool of the AI SDK without a name', `adoptTool({ from: sdkTool })`, `Property 'name' is missing`],
  [
    'an execute beside that of the AI SDK',
    `adoptTool({ from: sdkTool, name: 'w', execute: () => 'x' })`,
    `'execute' does not exist in type 'AdoptedToolOptions<`,
  ],
]

// One program for all mistakes, because a compiler then reads the libraries only once.
const head = [
  `import { tool } from 'ai'`,
  `import { z } from 'zod'`,
  `import { adoptTool, defineAgent, defineTool } from '../../src/index.ts'`,
  `import type { Agent, AgentModel } from '../../src/index.ts'`,
  `declare const model: AgentModel`,
  `interface Forecast { readonly city: string; readonly days: readonly number[] }`,
  `declare const forecast: Forecast`,
  `const inputSchema = z.object({ city: z.string() })`,
  `const facts = { name: 'w', description: 'x', inputSchema }`,
  `const untitled = { description: 'x', inputSchema }`,
  `const sdkTool = tool({ inputSchema, execute: ({ city }) => city })`,
]
const lines = [...head, ...right, ...mistakes.map(([, code]) => code)]
const place = mkdtempSync(join(folder, 'node_modules/.mistakes-'))
const options = { extends: '../../../../tsconfig.base.json', files: ['mistakes.ts'] }
writeFileSync(join(place, 'mistakes.ts'), lines.join('\n'))
writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(options))

afterAll(() => rmSync(place, { recursive: true, force: true }))

/** Messages of a compiler, by line number. */
type Said = ReadonlyMap<number, string>

/** Checks only the file itself: a whole compile takes twice the time. */
function saidByLibrary(ts: typeof TypeScript): Said {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (diagnostic: TypeScript.Diagnostic) => expect(diagnostic).toBeUndefined() }
  const parsed = ts.getParsedCommandLineOfConfigFile(join(place, 'tsconfig.json'), {}, host)
  const program = ts.createProgram(parsed?.fileNames ?? [], parsed?.options ?? {})
  const source = program.getSourceFile(join(place, 'mistakes.ts'))
  const said = new Map<number, string>()
  for (const { start = 0, messageText } of program.getSemanticDiagnostics(source)) {
    const line = source?.getLineAndCharacterOfPosition(start).line ?? -1
    said.set(line, `${said.get(line) ?? ''}${ts.flattenDiagnosticMessageText(messageText, '\n')}\n`)
  }
  return said
}

async function saidByCommand(command: string): Promise<Said> {
  const compiled = promisify(execFile)(process.execPath, [command, '-p', place, '--pretty', 'false'], { cwd: place })
  const { stdout } = await compiled.catch((error: { readonly stdout: string }) => error)
  const said = new Map<number, string>()
  for (const [, line, text = ''] of stdout.matchAll(/^mistakes\.ts\((\d+),\d+\): (.*\n(?: .*\n)*)/gm))
    said.set(Number(line) - 1, (said.get(Number(line) - 1) ?? '') + text)
  return said
}

const require = createRequire(import.meta.url)
const compilers: Readonly<Record<string, () => Said | Promise<Said>>> = {
  'TypeScript 5.9': () => saidByLibrary(require('typescript-5.9') as typeof TypeScript),
  'TypeScript 7': () => saidByCommand(join(require.resolve('typescript-7/package.json'), '../bin/tsc')),
}

describe.each(Object.entries(compilers))('a mistake in a tool, as %s reports it', (_name, compile) => {
  const compiled = Promise.resolve().then(compile)

  it('A190: accepts correct code', async () => {
    const said = await compiled
    expect(right.flatMap((code, index) => said.get(head.length + index) ?? []).join('\n')).toBe('')
    expect([...said.keys()].filter((line) => line < head.length)).toEqual([])
  })

  it.each(mistakes.map(([what, , ...named], index) => ({ what, named, index })))('A190: $what', async ({ named, index }) => {
    const said = (await compiled).get(head.length + right.length + index) ?? ''
    for (const words of named) expect(said).toContain(words)
    expect(said).not.toContain('overload')
  })
})
