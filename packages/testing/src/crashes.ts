export { faultyStore } from './faulty-store.ts'
export type { Answer, AnyFault, Fault, FaultPlan, FaultRule, OperationFault } from './fault-plan.ts'
export type { StoreOperation } from './around-store.ts'
export { exploreCrashes } from './crash-kit.ts'
export { exploreStoreFaults } from './explore-store-faults.ts'
export { crashScenarios } from './crash-kit/scenarios.ts'
export { standardInvariants } from './crash-kit/invariants.ts'
export type {
  Acknowledged,
  AcknowledgedInput,
  CrashEnd,
  CrashFailure,
  CrashMode,
  CrashReport,
  CrashScenario,
  Effect,
  ExploreOptions,
  ExploreStoreFaultsOptions,
  Invariant,
  SessionEnd,
  StoreFault,
  StoreFaultFailure,
  StoreFaultReport,
  World,
} from './crash-kit/types.ts'
