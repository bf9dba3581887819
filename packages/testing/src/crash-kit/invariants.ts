import { callsHaveOneOutcome, doubtIsSurfaced, keysAreKept, onceIsOnce } from './invariants/calls.ts'
import { acceptedInputsAreFound, nothingIsLeftInTheInbox } from './invariants/inputs.ts'
import {
  commitsAreSigned,
  compactionsAreMadeOnce,
  logFolds,
  logHasNoGaps,
  logIsWellFormed,
  logSettles,
  turnsEndOnce,
} from './invariants/log.ts'
import { acceptedAnswersAreKept, acceptedInputsAreAnswered, lostOwnersWriteNothing, nothingRunsAtRest } from './invariants/runs.ts'
import { transcriptIsValid } from './invariants/transcript.ts'
import type { Invariant } from './types.ts'

/** Invariants of every scenario, under any crash. */
export const standardInvariants: readonly Invariant[] = [
  nothingRunsAtRest,
  acceptedInputsAreAnswered,
  acceptedInputsAreFound,
  nothingIsLeftInTheInbox,
  acceptedAnswersAreKept,
  lostOwnersWriteNothing,
  onceIsOnce,
  keysAreKept,
  doubtIsSurfaced,
  callsHaveOneOutcome,
  transcriptIsValid,
  logHasNoGaps,
  commitsAreSigned,
  turnsEndOnce,
  compactionsAreMadeOnce,
  logIsWellFormed,
  logSettles,
  logFolds,
]
