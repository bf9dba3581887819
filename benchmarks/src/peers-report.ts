import { markdownTable, median, type Table } from './harness.ts'
import { ours, reference, type Competitor } from './peers.ts'
import { machineLine } from './results-file.ts'
import type { ChildResult } from './sample-child.ts'
import { rowsOf, type Row, type Sample } from './workload.ts'
import { workloads, type WorkloadName } from './workloads.ts'

/** Samples of one contender for one workload. */
export interface Cell {
  readonly competitor: Competitor
  readonly workload: WorkloadName
  readonly samples: Sample[]
  spentMs: number
  /** Result if there is no sample. */
  trouble?: Exclude<ChildResult, { kind: 'sample' }>
}

export interface PeersReport {
  /** One table each, column by column, with the same rows in all columns. */
  readonly memory: readonly Cell[]
  readonly durable: readonly Cell[]
  readonly postgres: readonly Cell[]
  readonly rounds: number
  readonly timeoutMs: number
}

export function peersReport({ memory, durable, postgres, rounds, timeoutMs }: PeersReport): string {
  return [
    '## The same work by others\n',
    `${machineLine()} Command: \`npm run bench:peers\`.\n`,
    'The model is scripted and in the same process, so all that is left is overhead. Our packages are installed from their tarballs into an empty',
    'project, the others as their registry has them. Each figure comes from processes of their own, which do small work of the same kind for 0.3 s, or for',
    `three seconds where the row says so, and then the work once: medians of ${rounds}, of fewer where the processes of a figure take more than ten seconds`,
    `together. The reader iterates every event, and its counts of text deltas, argument deltas and tool results must be right. *× ${reference}* is the figure on`,
    `its left divided by that of ${reference}.\n`,
    ...aboutLines(memory),
    '\npi leaves the reading of arguments to its providers, which read them anew at each delta; its stream function does it in the same way.',
    'Peak is the most memory that the process ever had, Node and all code included. An import is timed in a process that does nothing else, straight after another one.\n',
    ...tableLines(memory, timeoutMs),
    '\n## The same work, stored\n',
    'Every turn is a new conversation in one SQLite file, and what was seen must be in it when it is opened again. Arguments and result of a call are',
    '300 bytes together. *Handed to the file system* is all that the process wrote during the turn, log and checkpoints, counted where the system does; *growth*',
    'is that of the file with its log checkpointed, over one with empty tables.\n',
    ...aboutLines(durable),
    '\nBowline waits for the disk at each commit (`synchronous=FULL`) and has 32 turns under way at a time. The others are set up as their documentation has it: their',
    'files are at `synchronous=NORMAL`, which does not wait, so that a power failure may take their last steps.\n',
    ...tableLines(durable, timeoutMs),
    '\n## The same work, stored in Postgres\n',
    'Every turn is a new conversation in a new database of one server on this machine, whose commits wait for the disk, through TCP. What was seen must be in it when it is opened',
    'again. Arguments and result of a call are 300 bytes together. *Log* is what the server has written into its write-ahead log during the turn.\n',
    ...aboutLines(postgres),
    '',
    ...tableLines(postgres, timeoutMs),
  ].join('\n')
}

function aboutLines(cells: readonly Cell[]): readonly string[] {
  return columnsOf(cells).map(({ name, about }) => `- *${name}*: ${about}.`)
}

function tableLines(cells: readonly Cell[], timeoutMs: number): readonly string[] {
  const reasons = cells.flatMap(({ competitor, workload, trouble }) =>
    trouble === undefined || trouble.kind === 'timeout' ? [] : [`- ${competitor.name}, ${workloads[workload].title}: ${trouble.reason}`],
  )
  return [markdownTable(tableOf(cells, timeoutMs)), ...(reasons.length === 0 ? [] : ['\nLeft out (–):\n', ...reasons])]
}

interface Column {
  readonly head: string
  readonly textOf: (row: Row, workload: WorkloadName) => string
}

function tableOf(cells: readonly Cell[], timeoutMs: number): Table {
  const columns = columnsOf(cells).flatMap((competitor) => [figures(cells, competitor, timeoutMs), ...ratios(cells, competitor)])
  const names = [...new Set(cells.map(({ workload }) => workload))]
  const rows = names.flatMap((name) =>
    rowsOf(workloads[name]).map((row) => [`${row.title}, ${row.unit}`, ...columns.map(({ textOf }) => textOf(row, name))]),
  )
  return { head: ['work', ...columns.map(({ head }) => head)], rows }
}

function figures(cells: readonly Cell[], competitor: Competitor, timeoutMs: number): Column {
  return {
    head: competitor.name,
    textOf(row, workload) {
      const cell = cellOf(cells, competitor.name, workload)
      return cell === undefined ? '' : cellText(cell, row, timeoutMs)
    },
  }
}

/** Returns the ratios of a Bowline contender to the reference, if the table has the reference. */
function ratios(cells: readonly Cell[], competitor: Competitor): readonly Column[] {
  if (!ours.includes(competitor) || !cells.some((cell) => cell.competitor.name === reference)) return []
  const textOf = (row: Row, workload: WorkloadName): string => {
    const [own, theirs] = [competitor.name, reference].map((name) => valueIn(cellOf(cells, name, workload), row))
    return own === undefined || theirs === undefined ? '' : figure(own / theirs)
  }
  return [{ head: `× ${reference}`, textOf }]
}

function cellOf(cells: readonly Cell[], name: string, workload: WorkloadName): Cell | undefined {
  return cells.find((cell) => cell.competitor.name === name && cell.workload === workload)
}

function columnsOf(cells: readonly Cell[]): readonly Competitor[] {
  return [...new Set(cells.map(({ competitor }) => competitor))]
}

function cellText(cell: Cell, row: Row, timeoutMs: number): string {
  if (cell.trouble?.kind === 'timeout') return `> ${timeoutMs / 1000} s`
  if (cell.samples.length === 0 && cell.trouble === undefined) return ''
  const value = valueIn(cell, row)
  return value === undefined ? '–' : figure(value)
}

function valueIn(cell: Cell | undefined, { valueOf }: Row): number | undefined {
  if (cell?.trouble !== undefined) return undefined
  const values = (cell?.samples ?? []).map(valueOf).filter((value) => value !== undefined)
  return values.length === 0 ? undefined : median(values)
}

/** Formats a figure with three digits. */
function figure(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return value.toLocaleString('en', { minimumFractionDigits: Math.min(digits, 3), maximumFractionDigits: Math.min(digits, 3) })
}
