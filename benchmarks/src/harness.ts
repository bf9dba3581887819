/** Fewer and shorter trials, for trying out the benchmarks. Such figures are never written to the report. */
export const isShort = process.env['BENCH_SHORT'] === '1'

export interface Variant {
  readonly name: string
  /** Runs the work once. A variant that times only a part of its work returns the milliseconds itself. */
  readonly run: () => Promise<number | void> | number | void
}

export interface Measurement {
  readonly name: string
  readonly medianMs: number
  readonly samplesMs: readonly number[]
}

export interface MeasureOptions {
  /** Number of measurements per variant. Odd, so that the median is a real sample. */
  readonly rounds?: number
  /** Number of runs per variant before measuring, for the compiler. */
  readonly warmups?: number
  /**
   * Collects garbage before each sample. The compiler then loses much of its work, so do not use it for short calls. Default true.
   */
  readonly collect?: boolean
  readonly now?: () => number
}

/**
 * Measures variants against each other.
 *
 * Rounds are interleaved, and each starts with another variant, so that other load of the machine affects all variants equally.
 */
export async function measure(
  variants: readonly Variant[],
  { rounds = 9, warmups = 2, collect = true, now = () => performance.now() }: MeasureOptions = {},
): Promise<readonly Measurement[]> {
  for (let warmup = 0; warmup < warmups; warmup += 1) for (const variant of variants) await variant.run()

  const samples = variants.map((): number[] => [])
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < variants.length; turn += 1) {
      const index = (round + turn) % variants.length
      if (collect) globalThis.gc?.()
      const startedAt = now()
      const ownMs = await variants[index]?.run()
      samples[index]?.push(ownMs ?? now() - startedAt)
    }
  }
  return variants.map(({ name }, index) => {
    const samplesMs = samples[index] ?? []
    return { name, medianMs: median(samplesMs), samplesMs }
  })
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]
  if (upper === undefined) throw new Error('There is no median of nothing')
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/** Returns the size of the live heap, without uncollected garbage. */
export function heapAfterCollection(): number {
  if (!globalThis.gc) throw new Error('Run with --expose-gc')
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Benchmark. Each file `*.bench.ts` exports one as `bench`. */
export interface Bench {
  readonly title: string
  /** Explains in one or two sentences what is compared. */
  readonly text: string
  run(): Promise<Table>
}

export function markdownTable({ head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
