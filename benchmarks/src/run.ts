// npm run bench [-- name...]: runs every *.bench.ts, or those whose file name contains one of the names. If all are run, or all
// whose name begins with `start-`, `long-`, `stores-`, `state-`, `postgres-`, `restate-`, `http-`, `lists`, `bridge-` or `page-` (npm run
// bench -- stores and
// so on), their section of results.md is written. With BENCH_SHORT=1 some run fewer and shorter trials, and nothing is written.
import { globSync } from 'node:fs'
import { isShort, markdownTable, type Bench } from './harness.ts'
import { machineLine, writeSection, type SectionName } from './results-file.ts'

const wanted = process.argv.slice(2)
const files = globSync('*.bench.ts', { cwd: import.meta.dirname }).sort()

/** Sections with their own command, by the first word of their files. */
const ownSections = {
  start: '`npm run bench -- start`, after `node scripts/exec.mjs node scripts/pack.mjs`.',
  long: '`npm run bench -- long`. One run.',
  stores: '`npm run bench -- stores`.',
  state: '`npm run bench -- state`. A Redis server of its own.',
  postgres: '`npm run bench -- postgres`. A Postgres server of its own for each, whose commits wait for the disk.',
  restate: '`npm run bench -- restate`. A Restate server, and a Postgres server whose commits wait for the disk.',
  http: '`npm run bench -- http`. One run of each: a server in one process, its callers in another.',
  bridge: '`npm run bench -- bridge`. One run of each, where nothing else is said.',
  lists: '`BENCH_SESSIONS=1000000 npm run bench -- lists`.',
  page: '`npm run bench -- page`. Chromium of the system, without a graphics card.',
} as const

type OwnSection = keyof typeof ownSections

const isOf =
  (name: string) =>
  (file: string): boolean =>
    file.startsWith(`${name}-`) || file.startsWith(`${name}.`)
const isOwnSection = (name: string | undefined): name is OwnSection => name !== undefined && Object.hasOwn(ownSections, name)

async function partOf(file: string): Promise<string> {
  const { bench } = (await import(`./${file}`)) as { readonly bench: Bench }
  const part = `## ${bench.title}\n\n${bench.text}\n\n${markdownTable(await bench.run())}\n`
  console.log(part)
  return part
}

async function partsOf(some: readonly string[]): Promise<string[]> {
  const parts: string[] = []
  for (const file of some) parts.push(await partOf(file))
  return parts
}

async function write(section: SectionName, how: string, some: readonly string[]): Promise<void> {
  const head = `${machineLine()}\nCommand: ${how}\n`
  const parts = await partsOf(some)
  if (!isShort) writeSection(section, [head, ...parts].join('\n'))
}

async function writeOwn(name: OwnSection): Promise<void> {
  await write(name, ownSections[name], files.filter(isOf(name)))
}

// A part of the figures must not replace the whole section.
const [only] = wanted
if (only === undefined) {
  const names = Object.keys(ownSections) as OwnSection[]
  await write(
    'bench',
    '`npm run bench`. Medians of 9 interleaved rounds, where nothing else is said.',
    files.filter((file) => !names.some((name) => isOf(name)(file))),
  )
  for (const name of names) await writeOwn(name)
} else if (wanted.length === 1 && isOwnSection(only)) {
  await writeOwn(only)
} else {
  await partsOf(files.filter((file) => wanted.some((name) => file.includes(name))))
}
