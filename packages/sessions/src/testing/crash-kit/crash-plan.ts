import type { CrashMode } from './types.ts'

export type PointKind = 'before-commit' | 'after-commit' | 'after-claim' | 'tool-start' | 'tool-end' | 'model-call'

export interface CrashPoint {
  /** From 1, in the life of the process that is watched. */
  readonly number: number
  readonly kind: PointKind
  readonly what: string
}

/** Where a run of the scenario is disturbed: at the n-th point, and then at the m-th of what follows. */
export interface CrashPlan {
  readonly mode: CrashMode | 'none'
  readonly targets: readonly number[]
}

/** Whether something can happen there in this mode: an answer is lost only where one is given. */
export function isStrikable(mode: CrashMode, { kind }: CrashPoint): boolean {
  return mode !== 'lost-response' || kind === 'before-commit' || kind === 'after-commit' || kind === 'after-claim'
}

export function printPoint({ number, kind, what }: CrashPoint): string {
  return `${number} ${kind} ${what}`
}

/** Counts the points of the process that is watched, and says where it is struck. */
export class PointCounter {
  /** The points of each life: before the first crash, between it and the second, behind the last. */
  readonly lives: CrashPoint[][] = [[]]
  readonly #plan: CrashPlan

  constructor(plan: CrashPlan) {
    this.#plan = plan
  }

  /** True when the plan says so. The next point then begins another life. */
  reach(kind: PointKind, what: string): boolean {
    const life = this.lives.at(-1) ?? []
    const number = life.push({ number: life.length + 1, kind, what })
    if (number !== this.#plan.targets[this.lives.length - 1]) return false
    this.lives.push([])
    return true
  }

  /** The plan was not carried out: the scenario went another way than before. */
  get isUnfinished(): boolean {
    return this.lives.length <= this.#plan.targets.length
  }
}
