// npm run soak [-- minutes [store...]]: one process under mixed load on SQLite, then one on Postgres, ten minutes in all by default.
// It prints the first and the last quarter of each. Exits with 1 if a turn did not complete, a handle was left, or memory or CPU per
// turn grew. The figures of a whole soak are written into results.md.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startPostgres } from '../../scripts/postgres/start-postgres.ts'
import { markdownTable, type Table } from './harness.ts'
import { machineLine, writeSection } from './results-file.ts'
import { soakProblems, type SoakFigures } from './soak/soak-figures.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

const usualMinutes = 10
/** Time in ms for a child to end after it has printed its figures. */
const endMs = 15_000

const places: Readonly<Record<string, (use: (place: string) => Promise<SoakFigures>) => Promise<SoakFigures>>> = {
  sqlite: (use) => withTemporaryFolder((folder) => use(join(folder, 'soak.sqlite'))),
  async postgres(use) {
    const server = await startPostgres()
    try {
      return await use(server.url)
    } finally {
      await server.stop()
    }
  },
}

const [given, ...wanted] = process.argv.slice(2)
const minutes = given === undefined ? usualMinutes : Number(given)
const names = wanted.length > 0 ? wanted : Object.keys(places)
if (!(minutes > 0) || names.some((name) => !Object.hasOwn(places, name))) {
  console.error(`usage: npm run soak -- [minutes] [${Object.keys(places).join('|')}...]`)
  process.exit(2)
}

const seconds = (minutes * 60) / names.length
const results: (readonly [name: string, figures: SoakFigures])[] = []
for (const name of names) results.push([name, (await places[name]?.((place) => soak(place, seconds))) as SoakFigures])
const table = markdownTable(tableOf(results))
console.log(table)
const problems = results.flatMap(([name, figures]) => soakProblems(figures).map((problem) => `${name}: ${problem}`))
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
else if (minutes >= usualMinutes && wanted.length === 0) writeSection('soak', reportOf(table))

/** Runs the load in a process of its own. Rejects if that does not end by itself. */
async function soak(place: string, forSeconds: number): Promise<SoakFigures> {
  const args = ['--expose-gc', '--disable-warning=ExperimentalWarning']
  const child = fork(join(import.meta.dirname, 'soak/soak-child.ts'), [place, String(forSeconds)], {
    execArgv: args,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  const [figures] = (await Promise.race([once(child, 'message'), ended])) as [SoakFigures]
  if (typeof figures !== 'object') throw new Error(`The process ended with ${String(figures)}`)
  child.disconnect()
  const late = setTimeout(() => child.kill('SIGKILL'), endMs)
  const [code] = (await ended) as [number | null]
  clearTimeout(late)
  return code === 0
    ? figures
    : { ...figures, problems: [...figures.problems, `the process did not end by itself: it holds ${figures.left.join(', ')}`] }
}

function tableOf(all: typeof results): Table {
  const ms = (value: number | undefined): string => (value ?? NaN).toFixed(2)
  const mebibytes = (value: number | undefined): string => ((value ?? NaN) / 2 ** 20).toFixed(1)
  return {
    head: [
      'store',
      'turns',
      'completed',
      'sessions',
      'webhooks',
      'held MiB, first quarter',
      'last',
      'CPU ms per turn, first',
      'last',
      'of 1,200 large',
    ],
    rows: all.map(([name, { parts, turns, completed, sessions, notices, large }]) => {
      const [first, last] = [parts[0], parts.at(-1)]
      const whole = [turns, completed, sessions, notices].map((value) => value.toLocaleString('en'))
      return [
        name,
        ...whole,
        mebibytes(first?.heldBytes),
        mebibytes(last?.heldBytes),
        ms(first?.cpuMsPerTurn),
        ms(last?.cpuMsPerTurn),
        large?.toLocaleString('en') ?? '',
      ]
    }),
  }
}

function reportOf(text: string): string {
  return [
    `${machineLine()}\nCommand: \`npm run soak\`, ${minutes} minutes. The load and its measure are in one process.\n`,
    '## One process under load for minutes\n',
    'Short and long conversations of 500 tenants, readers that leave, turns over HTTP, sessions of a bridge and of MCP clients, many of them never',
    'closed, schedules, and a webhook for each run. *Held* is the heap after a collection when nothing is under way. *Large*: two turns in each of',
    '600 sessions, with an input of 100 kB each, before the first quarter. Notices of deleted sessions are not sent.\n',
    text,
  ].join('\n')
}
