import { needed } from '@bowline/llm/arguments'
import { AgentError } from '../base/agent-error.ts'
import { checkJournal, checkKeys, checkOneOf, checkWhole } from '../base/checks.ts'
import type { Journal } from '../contract/journal.ts'
import { otherMembers } from './other-members.ts'

export interface CrashPoint {
  /** Which commit, from 1. Those of child runs count. */
  readonly commit: number
  /** `before`: nothing of it is stored. `after`: it is stored, and its answer is lost. */
  readonly when: 'before' | 'after'
}

export interface CrashingJournal extends Journal {
  readonly crashed: boolean
}

/** A journal whose process dies at one of its commits: that one and all later ones are rejected. */
export function crashingJournal(journal: Journal, point: CrashPoint): CrashingJournal {
  checkJournal('journal', journal)
  checkKeys('point', point, ['commit', 'when'])
  checkWhole('point.commit', needed(point.commit), 1)
  checkOneOf('point.when', needed(point.when), ['before', 'after'])
  return wrap(journal, new Fate(point))
}

/** Of one process: all its journals share it. */
class Fate {
  crashed = false
  readonly #point: CrashPoint
  #commits = 0

  constructor(point: CrashPoint) {
    this.#point = point
  }

  async commit<Outcome>(store: () => Promise<Outcome>): Promise<Outcome> {
    const { commit, when } = this.#point
    const dies = ++this.#commits === commit
    if (this.crashed || (dies && when === 'before')) return this.#die()
    const outcome = await store()
    return dies ? this.#die() : outcome
  }

  #die(): never {
    this.crashed = true
    throw new AgentError('journal-failed', `the process died ${this.#point.when} commit ${this.#point.commit}`)
  }
}

function wrap(journal: Journal, fate: Fate): CrashingJournal {
  const child = journal.child?.bind(journal)
  return {
    ...otherMembers(journal),
    get crashed() {
      return fate.crashed
    },
    load: () => journal.load(),
    commit: (records, expect) => fate.commit(() => journal.commit(records, expect)),
    publish: (deltas) => journal.publish?.(deltas),
    ...(child && { child: (key, meta) => wrap(child(key, meta), fate) }),
  }
}
