import type { ArgumentCheck } from '@bowline/llm/arguments'
import { configChecks } from '../arguments.ts'
import { operations } from './around-store.ts'
import type { CrashScenario, ExploreOptions, ExploreStoreFaultsOptions } from './crash-kit/types.ts'
import type { AnyFault } from './fault-plan.ts'
import type { CheckHistoryOptions, RecordOptions } from './history/options.ts'
import { programFeatures, type HookPlan, type Program, type ProgramCrash, type ProgramStep, type Setup } from './programs/program.ts'
import type { RunProgramOptions, ExploreProgramsOptions, ProgramFault } from './programs/program-options.ts'
import type { ExploreSimulationsOptions, RunSimulationOptions } from './simulation/options.ts'
import { disturbanceKinds, type Simulation, type SimulationStep } from './simulation/simulation.ts'
import type { StateKitOptions } from './state-kit/kit.ts'
import type { StoreKitOptions, TestRunner } from './store-kit/kit.ts'

const {
  checkBoolean,
  checkFunction,
  checkList,
  checkName,
  checkOneOf,
  checkRequired,
  listOf,
  oneOf,
  optional,
  optionalName,
  optionalRecord,
} = configChecks
const { methods, record, required, requiredFunction, requiredList, whole } = configChecks

const runner = optionalRecord<TestRunner>({ describe: requiredFunction, it: requiredFunction })

export const checkStoreKit = record<StoreKitOptions>({
  name: checkName,
  create: requiredFunction,
  reopen: requiredFunction,
  destroy: checkFunction,
  second: checkFunction,
  bytesWritten: checkFunction,
  limitsRecords: required(checkBoolean),
  sharesDeltas: checkBoolean,
  loss: required(oneOf('lease', 'owner')),
  runner,
})

export const checkStateKit = record<StateKitOptions>({
  name: checkName,
  create: requiredFunction,
  reopen: checkFunction,
  second: checkFunction,
  pass: checkFunction,
  search: checkBoolean,
  destroy: checkFunction,
  runner,
})

export const checkScenario = record<CrashScenario>({
  agents: requiredFunction,
  store: checkFunction,
  runtime: checkFunction,
  drive: requiredFunction,
  invariants: checkList,
})

const programFault = record<ProgramFault>({ name: checkName, store: checkFunction, runtime: checkFunction })
const programOptions = { store: checkFunction, reopen: checkFunction, faults: listOf(programFault), invariants: listOf(methods('check')) }
const seed = required(whole(0))

export const checkExplorePrograms = record<ExploreProgramsOptions>({
  ...programOptions,
  seed,
  programs: required(whole(0)),
  features: listOf(oneOf(...programFeatures)),
  maxFailures: whole(1),
  shrinkTries: whole(0),
})

export const checkRunProgram = optionalRecord<RunProgramOptions>({ ...programOptions, namespace: optionalName })

const stepKinds: Readonly<Record<ProgramStep['do'], true>> = {
  send: true,
  steer: true,
  'follow-up': true,
  overlay: true,
  stop: true,
  kill: true,
  delete: true,
  compact: true,
  fork: true,
  label: true,
  switch: true,
  copy: true,
  schedule: true,
  resume: true,
  answer: true,
  read: true,
  pass: true,
  'set-clock': true,
  sweep: true,
  drain: true,
  restart: true,
}

const checkSetup = record<Setup>({
  maxCost: optionalName,
  modelMs: whole(0),
  concurrency: whole(1),
  idleMs: whole(1),
  maxActive: whole(0),
  maxSteps: whole(1),
  maxTokens: whole(0),
  maxMs: whole(1),
  durability: oneOf('turn'),
  onUnknownOutcome: oneOf('tell-model'),
  onFailedTurn: oneOf('rewind'),
  onDefinitionChange: oneOf('pin', 'refuse'),
  compaction: oneOf('in-turn', 'after-turn'),
  orchestration: checkBoolean,
  records: checkBoolean,
  webhook: checkBoolean,
  asksForMore: checkBoolean,
  guardrail: oneOf('block', 'halt', 'throw', 'wait'),
  hooks: listOf(
    record<HookPlan>({
      hook: checkName,
      does: (path, value) =>
        checkRequired(path, value, 'throw or a number of milliseconds', (given) => given === 'throw' || typeof given === 'number'),
      onError: oneOf('fail'),
      times: whole(0),
    }),
  ),
})

const ways: readonly ProgramCrash['how'][] = [
  'kill',
  'kill-after',
  'lost',
  'lost-after',
  'outage',
  'freeze',
  'unrenewed',
  'never-renewed',
  'kill-in-tool',
  'freeze-in-tool',
]

/** Checks the outer structure of a program only, because the kit prints the rest. */
export const checkProgram = record<Program>({
  seed,
  setup: checkSetup,
  steps: requiredList((path, step) => {
    checkRequired(path, step, 'a step, { do }', (given) => typeof given === 'object' && given !== null)
    checkRequired(
      `${path}.do`,
      Reflect.get(step as object, 'do'),
      'a kind of step',
      (kind) => typeof kind === 'string' && Object.hasOwn(stepKinds, kind),
    )
  }),
  crashes: requiredList(record({ at: required(whole(1)), how: required(oneOf(...ways)), ms: whole(0) })),
})

export const checkExploreOptions = optionalRecord<ExploreOptions>({
  modes: listOf(oneOf('kill', 'zombie')),
  depth: optional((path, value) => checkRequired(path, value, '1 or 2', (given) => given === 1 || given === 2)),
  only: optionalName,
  seed: whole(0),
  restWithinMs: whole(1),
})

export const checkStoreFaultOptions = optionalRecord<ExploreStoreFaultsOptions>({
  faults: listOf(oneOf('unavailable', 'answer-lost', 'full', 'away')),
  singles: whole(0),
  pairs: whole(0),
  only: optionalName,
  seed: whole(0),
  restWithinMs: whole(1),
})

export const checkRecordOptions = record<RecordOptions>({ process: checkName, write: requiredFunction, now: checkFunction })

export const checkPath = required(checkName)

export const checkTexts = requiredList((path, value) => checkRequired(path, value, 'a text', (given) => typeof given === 'string'))

export const checkHistoryArgument = requiredList((path, value) =>
  checkRequired(
    path,
    value,
    'an operation that readHistory gave',
    (given) => typeof given === 'object' && given !== null && 'call' in given && 'calledAt' in given,
  ),
)

export const checkCheckHistoryOptions = optionalRecord<CheckHistoryOptions>({ atRest: checkBoolean, maxTries: whole(1) })

const simulationOptions = {
  store: checkFunction,
  fault: (path: string, value: unknown) => methods('plant')(path, value),
  invariants: listOf(methods('check')),
}

export const checkRunSimulation = optionalRecord<RunSimulationOptions>(simulationOptions)

export const checkExploreSimulations = record<ExploreSimulationsOptions>({
  ...simulationOptions,
  seed,
  simulations: required(whole(0)),
  maxFailures: whole(1),
  shrinkTries: whole(0),
})

const simulationSteps: Readonly<Record<SimulationStep['do'], true>> = {
  send: true,
  steer: true,
  'follow-up': true,
  stop: true,
  read: true,
  follow: true,
}

/** Checks the outer structure of a simulation only, because the kit prints the rest. */
export const checkSimulation = record<Simulation>({
  seed,
  clocks: requiredList((path, value) => checkRequired(path, value, 'a number of milliseconds', Number.isSafeInteger)),
  lostHints: (path, value) =>
    checkRequired(path, value, 'a number from 0 to 1', (given) => typeof given === 'number' && given >= 0 && given <= 1),
  tellsLosses: checkBoolean,
  modelMs: required(whole(0)),
  deltaMs: whole(0),
  maxRunsPerTenant: whole(1),
  steps: requiredList((path, step) => {
    checkRequired(path, step, 'a step, { do }', (given) => typeof given === 'object' && given !== null)
    checkRequired(
      `${path}.do`,
      Reflect.get(step as object, 'do'),
      'a kind of step',
      (kind) => typeof kind === 'string' && Object.hasOwn(simulationSteps, kind),
    )
  }),
  disturbances: requiredList(record({ at: required(whole(1)), how: required(oneOf(...disturbanceKinds)), ms: whole(0) })),
})

const fault: ArgumentCheck = (path, value) => {
  if (typeof value !== 'object') checkOneOf(path, value, ['unavailable', 'answer-lost'])
}

const rule = record<AnyFault>({
  of: required(oneOf('any', ...Object.keys(operations))),
  when: checkFunction,
  fault: required(fault),
  skip: whole(0),
  times: whole(0),
})

export function checkFaultyStore(store: unknown, faults: unknown): void {
  checkRequired('store', store, 'a session store', (given) => typeof given === 'object' && given !== null && 'commit' in given)
  checkRequired('faults', faults, 'a list of rules', Array.isArray)
  listOf(rule)('faults', faults)
}
