import type { Contender, Unable } from './contender.ts'

/** What a workload finds out. */
export interface Figures {
  /** In the unit of the workload. */
  readonly value: number
  /** What the process handed to the file system per step, where the system counts it. */
  readonly writtenBytes?: number
  /** What the files have grown by per step. */
  readonly grownBytes?: number
}

/** What a process of its own says when its work is done. */
export interface Sample extends Figures {
  /** The most memory that the process ever had. */
  readonly peakBytes: number
}

/** A row of the table. */
export interface Row {
  readonly title: string
  readonly unit: string
  readonly valueOf: (sample: Sample) => number | undefined
}

export interface Workload<Subject = Contender> {
  readonly title: string
  readonly unit: string
  /** How much work, when nothing else is asked for. */
  readonly size: number
  /** Other figures of the same samples. */
  readonly furtherRows?: readonly Row[]
  /** Does the work once, when all that it needs is loaded and compiled. */
  measure(contender: Subject, size: number): Promise<Figures | Unable>
}

export function rowsOf({ title, unit, furtherRows = [] }: Workload<never>): readonly Row[] {
  return [{ title, unit, valueOf: ({ value }) => value }, ...furtherRows]
}
