import { AgentError } from '../agent-error.ts'
import type { Journal } from '../journal/journal.ts'

export interface CrashPoint {
  /** Which commit, from 1. */
  readonly commit: number
  /** `before`: nothing of it is stored. `after`: it is stored, and its answer is lost. */
  readonly when: 'before' | 'after'
}

export interface CrashingJournal extends Journal {
  readonly crashed: boolean
}

/** A journal whose process dies at one of its commits: that one and all later ones are rejected. */
export function crashingJournal(journal: Journal, point: CrashPoint): CrashingJournal {
  let commits = 0
  let crashed = false
  const died = (): never => {
    crashed = true
    throw new AgentError('journal-failed', `the process died ${point.when} commit ${point.commit}`)
  }
  return {
    get crashed() {
      return crashed
    },
    load: () => journal.load(),
    async commit(records, expect) {
      commits++
      if (crashed || (commits === point.commit && point.when === 'before')) return died()
      const outcome = await journal.commit(records, expect)
      return commits === point.commit ? died() : outcome
    },
    publish: (deltas) => journal.publish?.(deltas),
    ...(journal.abortSignal && { abortSignal: journal.abortSignal }),
  }
}
