import { standardInvariants } from '../../../../testing/src/crash-kit/invariants.ts'
import { onceIsOnce } from '../../../../testing/src/crash-kit/invariants/calls.ts'
import { decisionsAreTold, decisionsHold, onceUnlessAsked } from './invariants/calls.ts'
import { childrenAreTold } from './invariants/children.ts'
import { copiesAreWhole } from './invariants/copies.ts'
import { inputsAreShownOnce, overlaysAreShown, overlaysReachTheirTurn } from './invariants/inputs.ts'
import { listsAreWhole } from './invariants/lists.ts'
import { whatWaitsIsNamed } from './invariants/named.ts'
import { noticesAreKept } from './invariants/notices.ts'
import { messagesAreKnown } from './invariants/orchestration.ts'
import { readersSeeTheEnd } from './invariants/readers.ts'
import {
  clientsAreToldWhy,
  comesToRest,
  dueIsAsModelled,
  everyRunEnds,
  nothingIsDue,
  nothingIsLeftAlone,
  nothingProlongsLives,
  staysBelowItsCeiling,
} from './invariants/rest.ts'
import { requestsAreRecorded } from './invariants/requests.ts'
import { spendingAddsUp } from './invariants/spending.ts'
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
  overlaysReachTheirTurn,
  whatWaitsIsNamed,
  decisionsHold,
  decisionsAreTold,
  onceUnlessAsked,
  // Excluded, because a client that lets a call run again wants a second effect.
  ...standardInvariants.filter((each) => each !== onceIsOnce),
  readersSeeTheEnd,
  spendingAddsUp,
  requestsAreRecorded,
  messagesAreKnown,
  childrenAreTold,
  copiesAreWhole,
  listsAreWhole,
  noticesAreKept,
  nothingProlongsLives,
  clientsAreToldWhy,
]
