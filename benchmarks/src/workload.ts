import type { Contender, Unable } from './contender.ts'

/** Figures of a workload. */
export interface Figures {
  /** Value in the unit of the workload. */
  readonly value: number
  /** Bytes written to the file system per step, if the system counts them. */
  readonly writtenBytes?: number
  /** Growth of the files per step. */
  readonly grownBytes?: number
}

/** Report of a process when its work is done. */
export interface Sample extends Figures {
  /** Maximum memory of the process. */
  readonly peakBytes: number
}

/** Row of the table. */
export interface Row {
  readonly title: string
  readonly unit: string
  readonly valueOf: (sample: Sample) => number | undefined
}

export interface Workload<Subject = Contender> {
  readonly title: string
  readonly unit: string
  /** Default amount of work. */
  readonly size: number
  /** Further figures of the same samples. */
  readonly furtherRows?: readonly Row[]
  /** Runs the work once, after all code is loaded and compiled. */
  measure(contender: Subject, size: number): Promise<Figures | Unable>
}

export function rowsOf({ title, unit, furtherRows = [] }: Workload<never>): readonly Row[] {
  return [{ title, unit, valueOf: ({ value }) => value }, ...furtherRows]
}
