import type { CrashMode } from './types.ts'

export type PointKind = 'before-commit' | 'after-commit' | 'after-claim' | 'tool-start' | 'tool-end' | 'model-call'

export interface CrashPoint {
  /** Number of the point, from 1, within one life of the watched process. */
  readonly number: number
  readonly kind: PointKind
  readonly what: string
}

/** Points at which a run of the scenario is disturbed: at the n-th point, and then at the m-th point of the recovery. */
export interface CrashPlan {
  readonly mode: CrashMode | 'none'
  readonly targets: readonly number[]
}

export function printPoint({ number, kind, what }: CrashPoint): string {
  return `${number} ${kind} ${what}`
}

/** Counts the points of the watched process and decides where it is disturbed. */
export class PointCounter {
  /** The points of each life: before the first crash, between the crashes, and after the last one. */
  readonly lives: CrashPoint[][] = [[]]
  readonly #plan: CrashPlan

  constructor(plan: CrashPlan) {
    this.#plan = plan
  }

  /** Counts a point. Returns true if the plan disturbs it; the next point then begins another life. */
  reach(kind: PointKind, what: string): boolean {
    const life = this.lives.at(-1) ?? []
    const number = life.push({ number: life.length + 1, kind, what })
    if (number !== this.#plan.targets[this.lives.length - 1]) return false
    this.lives.push([])
    return true
  }

  /** True if the plan was not carried out, because the scenario took another path than before. */
  get isUnfinished(): boolean {
    return this.lives.length <= this.#plan.targets.length
  }
}
