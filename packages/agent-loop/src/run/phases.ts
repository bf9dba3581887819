import { AgentError } from '../agent-error.ts'
import type { Journal } from '../journal/journal.ts'

export type Phase = 'idle' | 'turn'

const busy = new WeakSet<Journal>()

/** What this process does with a journal. A suspended turn is open in the journal and its phase is `idle`. */
export function phaseOf(journal: Journal): Phase {
  return busy.has(journal) ? 'turn' : 'idle'
}

/** Throws `busy` when another run has the journal. */
export function takeJournal(journal: Journal): void {
  if (busy.has(journal)) throw new AgentError('busy', 'the journal has a run already')
  busy.add(journal)
}

export function releaseJournal(journal: Journal): void {
  busy.delete(journal)
}
