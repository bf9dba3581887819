import { standardInvariants } from '../crash-kit/invariants.ts'
import { onceIsOnce } from '../crash-kit/invariants/calls.ts'
import { decisionsHold, onceUnlessAsked } from './invariants/calls.ts'
import { inputsAreShownOnce, overlaysAreShown } from './invariants/inputs.ts'
import { readersSeeTheEnd } from './invariants/readers.ts'
import { clientsAreToldWhy, comesToRest, dueIsAsModelled, everyRunEnds, nothingIsDue, nothingIsLeftAlone, nothingProlongsLives, staysBelowItsCeiling } from './invariants/rest.ts'
import type { ProgramInvariant } from './program-end.ts'

/** The invariants of every program. If several fail, look at the first. */
export const programInvariants: readonly ProgramInvariant[] = [
  staysBelowItsCeiling,
  comesToRest,
  nothingIsDue,
  dueIsAsModelled,
  nothingIsLeftAlone,
  everyRunEnds,
  inputsAreShownOnce,
  overlaysAreShown,
  decisionsHold,
  onceUnlessAsked,
  // A client that has a call run again wants it to take effect twice.
  ...standardInvariants.filter((each) => each !== onceIsOnce),
  readersSeeTheEnd,
  nothingProlongsLives,
  clientsAreToldWhy,
]
