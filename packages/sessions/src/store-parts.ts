// Parts that the stores in Bowline's other packages share with those of this one. For these packages only: the parts change with any
// version.
export { configChecks } from './arguments.ts'
export { behindPrefix, checkPlace, checkTimeToLive, textOfValue } from './contract/check-state.ts'
export { checkedSessionStore, checkedStateStore, forwardedState } from './contract/checked-calls.ts'
export { compareIds, pageLimit, pageOf } from './contract/paging.ts'
export type { DeltaBatch, DeltaPlace, DeltaStore } from './contract/session-store.ts'
export { missingPeer, SessionError, warnProcess } from './errors.ts'
export { parseStored } from './json.ts'
export { checkNamespace } from './keys.ts'
export { openableStateStore, type OpenStates } from './state/openable-state-store.ts'
export { databaseVariable, kvVariables, prefixCheck } from './stores/state-environment.ts'
