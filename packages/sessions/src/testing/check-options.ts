import type { ArgumentCheck } from '@bowline/llm/arguments'
import { configChecks } from '../arguments.ts'
import { operations } from './around-store.ts'
import type { CrashScenario, ExploreOptions } from './crash-kit/types.ts'
import type { AnyFault } from './faulty-store.ts'
import type { StateKitOptions } from './state-kit/kit.ts'
import type { StoreKitOptions, TestRunner } from './store-kit/kit.ts'

const { checkBoolean, checkFunction, checkList, checkName, checkOneOf, checkRequired, listOf, oneOf, optional, optionalName, optionalRecord } = configChecks
const { record, required, requiredFunction, whole } = configChecks

const runner = optionalRecord<TestRunner>({ describe: requiredFunction, it: requiredFunction })

export const checkStoreKit = record<StoreKitOptions>({
  name: checkName,
  create: requiredFunction,
  reopen: requiredFunction,
  destroy: checkFunction,
  second: checkFunction,
  bytesWritten: checkFunction,
  limitsRecords: required(checkBoolean, 'true or false'),
  loss: required(oneOf('lease', 'owner'), 'lease or owner'),
  runner,
})

export const checkStateKit = record<StateKitOptions>({
  name: checkName,
  create: requiredFunction,
  reopen: checkFunction,
  second: checkFunction,
  pass: checkFunction,
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

export const checkExploreOptions = optionalRecord<ExploreOptions>({
  modes: listOf(oneOf('kill', 'lost-response', 'zombie')),
  depth: optional((path, value) => checkRequired(path, value, '1 or 2', (given) => given === 1 || given === 2)),
  only: optionalName,
  seed: whole(0),
  restWithinMs: whole(1),
})

const fault: ArgumentCheck = (path, value) => {
  if (typeof value !== 'object') checkOneOf(path, value, ['unavailable', 'answer-lost'])
}

const rule = record<AnyFault>({
  of: required(oneOf('any', ...Object.keys(operations)), 'an operation of a store, or any'),
  when: checkFunction,
  fault: required(fault, 'unavailable, answer-lost or an object'),
  skip: whole(0),
  times: whole(0),
})

export function checkFaultyStore(store: unknown, faults: unknown): void {
  checkRequired('faultyStore.store', store, 'a session store', (given) => typeof given === 'object' && given !== null && 'commit' in given)
  checkRequired('faultyStore.faults', faults, 'a list of rules', Array.isArray)
  listOf(rule)('faultyStore.faults', faults)
}
