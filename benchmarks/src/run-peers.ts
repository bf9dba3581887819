// pnpm bench:peers [name...]: the same work by us and by others, all in one run. Writes its section of results.md.
import { spawnSync } from 'node:child_process'
import { pnpmArguments } from '../../scripts/setup.mjs'
import { markdownTable, median, type Table } from './harness.ts'
import { competitors, peersFolder, type Competitor } from './peers.ts'
import { machineLine, writeSection } from './results-file.ts'
import { sampleInChild, withCompileCache, type ChildResult } from './sample-child.ts'
import { workloads, type Sample, type WorkloadName } from './workloads.ts'

const rounds = 5
const timeoutMs = 60_000
/** A cell that has used so much time gets no further round: the whole must end within minutes. */
const enoughMs = 10_000

interface Cell {
  readonly competitor: Competitor
  readonly workload: WorkloadName
  readonly samples: Sample[]
  spentMs: number
  /** What came in the place of a sample. */
  trouble?: Exclude<ChildResult, { kind: 'sample' }>
}

installPeers()
const names = Object.keys(workloads) as WorkloadName[]
const cells = competitors().flatMap((competitor) =>
  names.map((workload): Cell => ({ competitor, workload, samples: [], spentMs: 0 })),
)
await fill(selected(cells, process.argv.slice(2)))
const body = report(cells)
console.log(body)
if (process.argv.length === 2) writeSection('peers', body)

function installPeers(): void {
  const install = spawnSync('npx', [...(pnpmArguments() as string[]), 'install', '--frozen-lockfile'], {
    cwd: peersFolder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  // What is missing says so in its column.
  if (install.status !== 0) console.error('The others could not be installed; the lines above say why.')
}

function selected(all: readonly Cell[], wanted: readonly string[]): readonly Cell[] {
  const labelOf = ({ competitor, workload }: Cell) => `${competitor.module} ${workload}`
  return wanted.length === 0 ? all : all.filter((cell) => wanted.some((name) => labelOf(cell).includes(name)))
}

/** Round by round, so that what the machine does meanwhile hits all of them alike. */
async function fill(wanted: readonly Cell[]): Promise<void> {
  await withCompileCache(async (compileCache) => {
    for (let round = 1; round <= rounds; round += 1) {
      for (const cell of wanted) {
        if (cell.trouble === undefined && cell.spentMs <= enoughMs) await addSample(cell, compileCache)
      }
      console.error(`round ${round} of ${rounds}`)
    }
  })
}

async function addSample(cell: Cell, compileCache: string): Promise<void> {
  const startedAt = performance.now()
  const { workload, competitor } = cell
  const result = await sampleInChild({ module: competitor.module, workload, timeoutMs, compileCache })
  cell.spentMs += performance.now() - startedAt
  if (result.kind === 'sample') cell.samples.push(result.sample)
  else cell.trouble = result
}

function report(all: readonly Cell[]): string {
  const troubles = new Set(
    all.flatMap(({ competitor, trouble }) => (trouble?.kind === 'failed' ? [`- ${competitor.name}: ${trouble.reason}`] : [])),
  )
  return [
    '## The same work by others\n',
    `${machineLine()} Command: \`pnpm bench:peers\`.\n`,
    'The model is scripted and in the same process, so all that is left is overhead. Each figure comes from processes of their own, which do',
    `small work of the same kind for 0.3 s and then the work once: medians of ${rounds}, of fewer where one takes longer than two seconds. The reader iterates`,
    'every event, and its counts of text deltas, argument deltas and tool results must be right.\n',
    ...competitors().map(({ name, about }) => `- *${name}*: ${about}.`),
    '\npi leaves the reading of arguments to its providers, which read them anew at each delta; its stream function does it in the same way.',
    'Peak is the most memory that the process ever had, Node and all code included.\n',
    markdownTable(tableOf(all)),
    ...(troubles.size === 0 ? [] : ['\n– stands for:\n', ...troubles]),
  ].join('\n')
}

function tableOf(all: readonly Cell[]): Table {
  const columns = competitors()
  const rowOf = (title: string, workload: WorkloadName, textOf: (cell: Cell) => string) => [
    title,
    ...columns.map(({ name }) => {
      const cell = all.find((other) => other.workload === workload && other.competitor.name === name)
      return cell === undefined ? '' : textOf(cell)
    }),
  ]
  const rows = names.flatMap((workload) => {
    const { title, unit } = workloads[workload]
    const row = rowOf(`${title}, ${unit}`, workload, (cell) => cellText(cell, ({ value }) => value))
    if (workload !== 'concurrent') return [row]
    return [row, rowOf('the same: peak, MiB', workload, (cell) => cellText(cell, ({ peakBytes }) => peakBytes / 1024 ** 2))]
  })
  return { head: ['work', ...columns.map(({ name }) => name)], rows }
}

function cellText({ samples, trouble }: Cell, numberOf: (sample: Sample) => number): string {
  if (trouble?.kind === 'timeout') return `> ${timeoutMs / 1000} s`
  if (samples.length === 0) return trouble === undefined ? '' : '–'
  return figure(median(samples.map(numberOf)))
}

/** Three digits, as far as there are any behind the point. */
function figure(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return value.toLocaleString('en', { minimumFractionDigits: Math.min(digits, 3), maximumFractionDigits: Math.min(digits, 3) })
}
