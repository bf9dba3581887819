export { manualClock as fakeClock } from '@bowline/llm/testing'
export type { ManualClock as FakeClock } from '@bowline/llm/testing'
export { fakeIds } from '@bowline/agent-loop/testing'
export { faultyStore } from './faulty-store.ts'
export type { Answer, AnyFault, Fault, FaultPlan, FaultRule, OperationFault } from './fault-plan.ts'
export type { StoreOperation } from './around-store.ts'
export { testSessionStore } from './store-kit.ts'
export type { StoreKitOptions, TestRunner } from './store-kit/kit.ts'
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
export { explorePrograms } from './programs/explore-programs.ts'
export type { ProgramFailure, ProgramReport } from './programs/explore-programs.ts'
export { runProgram } from './programs/run-program.ts'
export type { ProgramVerdict } from './programs/run-program.ts'
export type { ProgramFault, RunProgramOptions, ExploreProgramsOptions } from './programs/program-options.ts'
export { programFaults } from './programs/faults.ts'
export { programInvariants } from './programs/invariants.ts'
export type { FirstRest, ProgramEnd, ProgramInvariant, AcceptedInput } from './programs/program-end.ts'
export { programFeatures } from './programs/program.ts'
export type {
  AnswerKind,
  Feature,
  HookPlan,
  Plan,
  PlannedAnswer,
  PlannedCall,
  PlannedHook,
  PlannedInput,
  PlannedTool,
  Program,
  ProgramCrash,
  ProgramSession,
  ProgramStep,
  Setup,
} from './programs/program.ts'
export { recordHistory } from './history/record-history.ts'
export type { HistoryRecorder } from './history/record-history.ts'
export type { CheckHistoryOptions, RecordOptions } from './history/options.ts'
export { historyFile } from './history/history-file.ts'
export type { HistoryFile } from './history/history-file.ts'
export { readHistory } from './history/read-history.ts'
export { checkHistory } from './history/check-history.ts'
export type { HistoryProblem, HistoryReport } from './history/check-history.ts'
export type { History, HistoryOperation } from './history/operations.ts'
export type { HistoryRule } from './history/session-model.ts'
export { exploreSimulations } from './simulation/explore-simulations.ts'
export type { SimulationFailure, SimulationReport } from './simulation/explore-simulations.ts'
export { runSimulation } from './simulation/run-simulation.ts'
export type { SimulationVerdict } from './simulation/run-simulation.ts'
export { simulationFaults } from './simulation/faults.ts'
export { simulationInvariants } from './simulation/invariants.ts'
export type { ExploreSimulationsOptions, PlantedFault, RunSimulationOptions, SimulationFault } from './simulation/options.ts'
export type { SimulationEnd, SimulationInvariant } from './simulation/simulation-end.ts'
export type { Disturbance, DisturbanceKind, Simulation, SimulationSession, SimulationStep } from './simulation/simulation.ts'
export { testStateStore } from './state-kit.ts'
export type { StateKitOptions } from './state-kit/kit.ts'
