// node scripts/ripples.mjs [addition...]: counts the files that an addition touches. Adds a fake event type, run status, option of
// `send`, route or store to a copy of the repository, and lists the files that the compiler and the table tests then name.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './setup.mjs'

/** @typedef {{ readonly file: string, readonly before: string, readonly added: string }} Edit `added` is put before the text `before` */

/** @type {Readonly<Record<string, { readonly most: number, readonly edits: readonly Edit[] }>>} */
const additions = {
  'event type': {
    most: 12,
    edits: [
      {
        file: 'packages/agent-loop/src/events/agent-event.ts',
        before: '  | SavePointEvent\n',
        added: "  | (RunEventBase & { readonly type: 'ripple' })\n",
      },
      {
        file: 'packages/agent-loop/src/events/agent-event.ts',
        before: 'export type AgentEvent',
        added: "import type { RunEventBase } from './turn-events.ts'\n",
      },
    ],
  },
  'run status': {
    most: 12,
    edits: [
      { file: 'packages/agent-loop/src/events/turn-events.ts', before: "  | 'awaiting-subagent'\n", added: "  | 'awaiting-ripple'\n" },
    ],
  },
  'option of send': {
    most: 6,
    edits: [
      {
        file: 'packages/sessions/src/commands/types.ts',
        before: '  readonly maxQueued?: number\n',
        added: '  /** A ripple. */\n  readonly ripple?: string\n',
      },
    ],
  },
  route: {
    most: 6,
    edits: [
      {
        file: 'packages/server/src/routes/all-routes.ts',
        before: '    healthRoute(),\n',
        added: "    { ...healthRoute(), path: '/api/ripple' },\n",
      },
    ],
  },
  store: {
    most: 3,
    edits: [
      {
        file: 'packages/sessions/package.json',
        before: '    "./sqlite": "./src/sqlite.ts",\n',
        added: '    "./ripple": "./src/ripple.ts",\n',
      },
      { file: 'packages/sessions/src/ripple.ts', before: '', added: "export { memoryStore as rippleStore } from './stores/memory.ts'\n" },
    ],
  },
}

/** Tests that hold a table of all events, options, routes or exports. */
const tables = [
  ...['api', 'reference', 'guarantees', 'bounds', 'structure', 'config-schema', 'readmes', 'tsup-package'].map(
    (name) => `scripts/test/${name}.test.ts`,
  ),
  'packages/agent-loop/test/surface.test.ts',
  'packages/sessions/test/arguments.test.ts',
  'packages/sessions/test/surface.test.ts',
  'packages/server/test/contract.test.ts',
  'packages/client/test/argument-table.test.ts',
]

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in additions))
if (unknown.length > 0) {
  console.error(`No such addition: ${unknown.join(', ')}. There are: ${Object.keys(additions).join(', ')}`)
  process.exit(2)
}

const copy = mkdtempSync(join(tmpdir(), 'bowline-ripples-'))
try {
  copyRepository()
  const anyway = new Set(findings())
  for (const [name, { most, edits }] of Object.entries(additions)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const undo = edits.map(apply)
    const files = [...new Set(findings())].filter((file) => !anyway.has(file)).sort()
    for (const each of undo.reverse()) each()
    console.log(`${name}: ${files.length} files (wanted: ${most} at most)`)
    for (const file of files) console.log(`  ${file}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}

function copyRepository() {
  const left = new Set(['.git', 'node_modules', '.turbo', 'coverage', '.bowline'].map((name) => join(root, name)))
  cpSync(root, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (from) => !left.has(from) && !/\/(dist|\.turbo|\.bowline)$/.test(from),
  })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
}

/**
 * @param {Edit} edit
 * @returns {() => void} takes it back
 */
function apply({ file, before, added }) {
  const path = join(copy, file)
  if (before === '') {
    writeFileSync(path, added)
    return () => rmSync(path)
  }
  const text = readFileSync(path, 'utf8')
  if (!text.includes(before)) throw new Error(`${file} has no ${JSON.stringify(before)} any more. Change the edit in scripts/ripples.mjs.`)
  writeFileSync(path, text.replace(before, added + before))
  return () => writeFileSync(path, text)
}

function findings() {
  return [...compilerFindings(), ...tableFindings()]
}

/** @returns {string[]} files in which the compiler finds an error */
function compilerFindings() {
  const compiler = join(createRequire(import.meta.url).resolve('typescript-7/package.json'), '../bin/tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '--noEmit', '-p', 'tsconfig.json'], { cwd: copy, encoding: 'utf8' })
  return [...stdout.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file = '']) => file)
}

/** @returns {string[]} files of the table tests that fail */
function tableFindings() {
  const report = join(copy, 'ripples.json')
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--reporter', 'json', '--outputFile', report, ...tables]
  spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8' })
  /** @type {{ testResults: { name: string, status: string }[] }} */
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  return testResults.filter(({ status }) => status === 'failed').map(({ name }) => name.slice(copy.length + 1))
}
