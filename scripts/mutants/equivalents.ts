import type { Equivalent } from './run-area.ts'

/** Faults that no test can detect, because they change no observable behaviour. */
export const equivalents: readonly Equivalent[] = [
  {
    source: 'packages/server/src/auth/bearer.ts',
    kind: 'empty-text',
    original: "'0'",
    reason: 'Only the time of the comparison with the hash of an unknown id depends on it.',
  },
  {
    source: 'packages/sessions/src/runtime/recover.ts',
    kind: 'empty-text',
    original: "'batch'",
    reason: 'The ids of batches need only differ, whatever they begin with.',
  },
  {
    source: 'packages/sessions/src/runtime/claim-loop.ts',
    kind: 'other-number',
    original: '0',
    line: '#counts',
    reason: 'A drain reports how many more there are than at its begin.',
  },
  {
    source: 'packages/agent-loop/src/plugins/budget/budget.ts',
    kind: 'empty-text',
    original: "'budget'",
    line: 'name:',
    reason: 'The names of our own plug-ins need only differ: they are shown when two of a list are equal.',
  },
  {
    source: 'packages/agent-loop/src/plugins/approvals/approvals.ts',
    kind: 'empty-text',
    original: "'approvals'",
    line: 'name:',
    reason: 'The names of our own plug-ins need only differ: they are shown when two of a list are equal.',
  },
  {
    source: 'packages/sessions/src/commands/decisions.ts',
    kind: 'always-false',
    original: 'reason === undefined',
    line: 'canonicalJson',
    reason: 'Canonical JSON leaves out what is undefined.',
  },
]
