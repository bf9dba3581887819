// npm run bench:peers [-- name...]: the same work by Bowline and by others in one run. Writes its section of results.md.
import { spawnSync } from 'node:child_process'
import { startPostgres } from '../../scripts/postgres/start-postgres.ts'
import { durableWorkloads } from './durable-workloads.ts'
import { installTarballs } from './installed-project.ts'
import { memoryWorkloads } from './memory-workloads.ts'
import { competitors, durableCompetitors, peersFolder, postgresCompetitors, type Competitor } from './peers.ts'
import { peersReport, type Cell } from './peers-report.ts'
import { postgresWorkloads } from './postgres-workloads.ts'
import { writeSection } from './results-file.ts'
import { sampleInChild, type ChildWork } from './sample-child.ts'
import { withTemporaryFolder } from './temporary-folder.ts'
import type { WorkloadName } from './workloads.ts'

const rounds = 5
const timeoutMs = 120_000
/** Time after which a cell gets no further round: the whole run must end within minutes. */
const enoughMs = 10_000

installPeers()
const memory = cellsOf(competitors(), memoryWorkloads)
const durable = cellsOf(durableCompetitors(), durableWorkloads)
const postgres = cellsOf(postgresCompetitors(), postgresWorkloads)
const server = await startPostgres({ durable: true })
process.env['BENCH_POSTGRES_URL'] = server.tcpUrl
await withTemporaryFolder(async (project) => {
  installTarballs(project)
  await fill(selected([...memory, ...durable, ...postgres], process.argv.slice(2)), project)
})
await server.stop()
const body = peersReport({ memory, durable, postgres, rounds, timeoutMs })
console.log(body)
if (process.argv.length === 2) writeSection('peers', body)

function installPeers(): void {
  const install = spawnSync('pnpm', ['install', '--frozen-lockfile'], {
    cwd: peersFolder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  // The column of a missing contender says that it is missing.
  if (install.status !== 0) console.error('The others could not be installed; the lines above say why.')
}

function cellsOf(columns: readonly Competitor[], rows: Readonly<Partial<Record<WorkloadName, unknown>>>): readonly Cell[] {
  const names = Object.keys(rows) as WorkloadName[]
  return columns.flatMap((competitor) => names.map((workload): Cell => ({ competitor, workload, samples: [], spentMs: 0 })))
}

function selected(all: readonly Cell[], wanted: readonly string[]): readonly Cell[] {
  const labelOf = ({ competitor, workload }: Cell) => `${competitor.module} ${workload}`
  return wanted.length === 0 ? all : all.filter((cell) => wanted.some((name) => labelOf(cell).includes(name)))
}

/** Measures in rounds, so that other load of the machine affects all cells equally. */
async function fill(wanted: readonly Cell[], project: string): Promise<void> {
  await withTemporaryFolder(async (compileCache) => {
    for (let round = 1; round <= rounds; round += 1) {
      for (const cell of wanted) {
        if (cell.trouble === undefined && cell.spentMs <= enoughMs) await addSample(cell, { compileCache, project })
      }
      console.error(`round ${round} of ${rounds}`)
    }
  })
}

async function addSample(cell: Cell, folders: Pick<ChildWork, 'compileCache' | 'project'>): Promise<void> {
  const startedAt = performance.now()
  const { workload, competitor } = cell
  const result = await sampleInChild({ module: competitor.module, workload, timeoutMs, ...folders })
  cell.spentMs += performance.now() - startedAt
  if (result.kind === 'sample') cell.samples.push(result.sample)
  else cell.trouble = result
}
