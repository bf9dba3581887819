import type { ArgumentCheck } from '@bowline/llm/arguments'
import { configChecks } from '@bowline/sessions/internal'
import { operations } from './around-store.ts'
import type { CrashScenario, ExploreOptions, ExploreStoreFaultsOptions } from './crash-kit/types.ts'
import type { AnyFault } from './fault-plan.ts'
import type { PlacementKitOptions } from './placement-kit/types.ts'
import type { RowKitOptions } from './row-kit/kit.ts'
import type { TestRunner } from './runner.ts'
import type { StateKitOptions } from './state-kit/kit.ts'

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
const { record, required, requiredFunction, whole } = configChecks

const runner = optionalRecord<TestRunner>({ describe: requiredFunction, it: requiredFunction })

export const checkRowKit = record<RowKitOptions>({
  name: checkName,
  create: requiredFunction,
  reopen: checkFunction,
  second: checkFunction,
  cut: checkFunction,
  destroy: checkFunction,
  programs: whole(1),
  seed: whole(0),
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

export const checkPlacementKit = record<PlacementKitOptions>({
  name: checkName,
  host: requiredFunction,
  programs: whole(1),
  seed: whole(0),
  store: checkFunction,
  time: oneOf('system', 'simulated'),
  withinMs: whole(1),
  runner,
})

export const checkScenario = record<CrashScenario>({
  agents: requiredFunction,
  store: checkFunction,
  runtime: checkFunction,
  drive: requiredFunction,
  invariants: checkList,
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
