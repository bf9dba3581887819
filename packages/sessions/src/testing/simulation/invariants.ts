import { standardInvariants } from '../crash-kit/invariants.ts'
import { checkHistory } from '../history/check-history.ts'
import type { SimulationInvariant } from './simulation-end.ts'

/** The invariants of every simulation. If several fail, look at the first. */
export const simulationInvariants: readonly SimulationInvariant[] = [
  { name: 'the history agrees with the model of a session', check: ({ history, rests }) => checkHistory(history, { atRest: rests }).problems.map(({ text }) => text) },
  { name: 'an owner that renews its lease keeps its run', check: ({ leaseProblems }) => leaseProblems },
  { name: 'what can be claimed is claimed in time', check: ({ waitProblems }) => waitProblems },
  { name: 'the simulation comes to rest', check: ({ stuck }) => (stuck === undefined ? [] : [stuck]) },
  { name: 'clients get an answer', check: ({ surprises }) => surprises },
  { name: 'nothing fails in the background', check: ({ faults }) => faults },
  ...standardInvariants,
]
