import { configChecks, type OptionCheck } from '../arguments.ts'
import { operations } from './around-store.ts'
import type { CrashScenario, ExploreOptions } from './crash-kit/types.ts'
import type { AnyFault } from './faulty-store.ts'
import type { StateKitOptions } from './state-kit/kit.ts'
import type { StoreKitOptions, TestRunner } from './store-kit/kit.ts'

const { checkFunction, checkBoolean, name, options, oneOf, whole, listOf } = configChecks

const runner = options<TestRunner>({ describe: checkFunction, it: checkFunction }, ['describe', 'it'])

export const checkStoreKit = options<StoreKitOptions>(
  {
    name,
    create: checkFunction,
    reopen: checkFunction,
    destroy: checkFunction,
    second: checkFunction,
    bytesWritten: checkFunction,
    limitsRecords: checkBoolean,
    loss: oneOf('lease', 'owner'),
    runner,
  },
  ['name', 'create', 'reopen', 'limitsRecords', 'loss'],
)

export const checkStateKit = options<StateKitOptions>(
  { name, create: checkFunction, reopen: checkFunction, second: checkFunction, pass: checkFunction, destroy: checkFunction, runner },
  ['name', 'create'],
)

export const checkScenario = options<CrashScenario>(
  { agents: checkFunction, store: checkFunction, runtime: checkFunction, drive: checkFunction, invariants: configChecks.checkList },
  ['agents', 'drive'],
)

export const checkExploreOptions = options<ExploreOptions>({
  modes: listOf(oneOf('kill', 'lost-response', 'zombie')),
  depth: (path, value) => configChecks.checkRequired(path, value, '1 or 2', (given) => given === 1 || given === 2),
  only: name,
  seed: whole(0),
  restWithinMs: whole(1),
})

const fault: OptionCheck = (path, value) => {
  if (typeof value !== 'object') configChecks.checkOneOf(path, value, ['unavailable', 'answer-lost'])
}

const rule = options<AnyFault>({ of: oneOf('any', ...Object.keys(operations)), when: checkFunction, fault, skip: whole(0), times: whole(0) }, ['of', 'fault'])

export function checkFaultyStore(store: unknown, faults: unknown): void {
  configChecks.checkRequired('faultyStore.store', store, 'a session store', (given) => typeof given === 'object' && given !== null && 'commit' in given)
  configChecks.checkRequired('faultyStore.faults', faults, 'a list of rules', Array.isArray)
  listOf(rule)('faultyStore.faults', faults)
}
