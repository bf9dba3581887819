import { AgentError } from '../base/agent-error.ts'
import { checkJournal } from '../base/checks.ts'
import type { Journal } from '../contract/journal.ts'
import type { Phase } from '../contract/run.ts'

const phases = new WeakMap<Journal, Exclude<Phase, 'idle'>>()

/** Returns how this process uses a journal. A suspended turn is open in the journal and its phase is `idle`. */
export function phaseOf(journal: Journal): Phase {
  checkJournal('journal', journal)
  return phases.get(journal) ?? 'idle'
}

/** Marks a journal as in use. Throws `busy` if it is in use already. */
export function takeJournal(journal: Journal, phase: Exclude<Phase, 'idle'>): void {
  if (phases.has(journal))
    throw new AgentError('busy', `the journal is busy (phase: ${phaseOf(journal)}); wait for its turn to end, or steer it`)
  phases.set(journal, phase)
}

export function releaseJournal(journal: Journal): void {
  phases.delete(journal)
}

/** Does work in another phase of a journal that is in use. */
export async function inPhase<Value>(journal: Journal, phase: Exclude<Phase, 'idle'>, work: () => Promise<Value>): Promise<Value> {
  const before = phases.get(journal)
  phases.set(journal, phase)
  try {
    return await work()
  } finally {
    if (before) phases.set(journal, before)
  }
}
