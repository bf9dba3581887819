import { devNull } from 'node:os'
import { scriptedModel } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import {
  checkHistory,
  exploreCrashes,
  explorePrograms,
  exploreSimulations,
  exploreStoreFaults,
  fakeClock,
  fakeIds,
  faultyStore,
  historyFile,
  readHistory,
  recordHistory,
  runProgram,
  runSimulation,
  testSessionStore,
  testStateStore,
} from '@bowline/sessions/testing'
import { boolean, func, list, made, needed, number, oneOf, options, someText, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow } from '../../../scripts/argument-table.ts'

const none = (call: () => unknown): ShapedRow => ({ args: [], call })

/** Returns the rows of the exports for tests. */
export function testingRows(): Readonly<Record<string, ShapedRow>> {
  const runner = options({ describe: needed(func()), it: needed(func()) })
  const rule = [{ of: 'commit', fault: 'unavailable' }]
  return {
    // The packages below test their own exports.
    fakeClock: none(() => fakeClock()),
    fakeIds: none(() => fakeIds()),
    faultyStore: {
      args: [
        ['store', made(memoryStore())],
        ['faults', list(rule, () => false)],
      ],
      call: faultyStore,
    },
    recordHistory: {
      args: [['', options({ process: needed(someText()), write: needed(func()), now: func(() => 1) }, false)]],
      call: recordHistory,
    },
    // Creates no file for an accepted path.
    historyFile: {
      args: [['path', needed(someText())]],
      call: (path: string) => historyFile(typeof path === 'string' && path !== '' ? devNull : path).close(),
    },
    readHistory: { args: [['texts', list([''], (item) => typeof item === 'string')]], call: readHistory },
    checkHistory: {
      args: [
        ['history', list([], () => false)],
        ['', options({ atRest: boolean, maxTries: whole(1, 1) })],
      ],
      call: checkHistory,
    },
    testSessionStore: {
      args: [
        [
          '',
          options(
            {
              name: needed(someText()),
              create: needed(func()),
              reopen: needed(func()),
              destroy: func(),
              second: func(),
              bytesWritten: func(),
              limitsRecords: needed(boolean),
              sharesDeltas: boolean,
              loss: needed(oneOf('lease', 'owner')),
              runner,
            },
            false,
          ),
        ],
      ],
      call: (given) => testSessionStore(withRunner(given)),
    },
    testStateStore: {
      args: [
        [
          '',
          options(
            {
              name: needed(someText()),
              create: needed(func()),
              reopen: func(),
              second: func(),
              pass: func(),
              search: boolean,
              destroy: func(),
              runner,
            },
            false,
          ),
        ],
      ],
      call: (given) => testStateStore(withRunner(given)),
    },
    exploreCrashes: {
      args: [
        [
          'scenario',
          options(
            {
              agents: needed(func(() => [{ name: 'assistant', model: scriptedModel([]) }])),
              store: func(),
              runtime: func(),
              drive: needed(func()),
              invariants: list([], () => true),
            },
            false,
          ),
        ],
        [
          '',
          options({
            modes: list(['kill'], (item) => item === 'kill'),
            depth: oneOf(1, 2),
            only: { ...someText(), good: undefined },
            seed: whole(0, 1),
            restWithinMs: whole(1, 1),
          }),
        ],
      ],
      call: exploreCrashes,
    },
    exploreStoreFaults: {
      args: [
        [
          'scenario',
          options(
            {
              agents: needed(func(() => [{ name: 'assistant', model: scriptedModel([]) }])),
              store: func(),
              runtime: func(),
              drive: needed(func()),
              invariants: list([], () => true),
            },
            false,
          ),
        ],
        [
          '',
          options({
            faults: list(['full'], (item) => item === 'full'),
            singles: whole(0, 0),
            pairs: whole(0, 0),
            only: { ...someText(), good: undefined },
            seed: whole(0, 1),
            restWithinMs: whole(1, 1),
          }),
        ],
      ],
      call: exploreStoreFaults,
    },
    explorePrograms: {
      args: [
        [
          'options',
          options(
            {
              ...programOptions,
              programs: needed(whole(0, 0)),
              seed: needed(whole(0, 1)),
              features: list(['hooks'], (item) => item === 'hooks'),
              maxFailures: whole(1, 1),
              shrinkTries: whole(0, 1),
            },
            false,
          ),
        ],
      ],
      call: explorePrograms,
    },
    exploreSimulations: {
      args: [
        [
          'options',
          options(
            {
              ...simulationOptions,
              simulations: needed(whole(0, 0)),
              seed: needed(whole(0, 1)),
              maxFailures: whole(1, 1),
              shrinkTries: whole(0, 1),
            },
            false,
          ),
        ],
      ],
      call: exploreSimulations,
    },
    runSimulation: {
      args: [
        [
          'simulation',
          options(
            {
              seed: needed(whole(0, 1)),
              clocks: needed(list([0], (item) => Number.isSafeInteger(item))),
              lostHints: needed(number(0, 1)),
              modelMs: needed(whole(0, 1)),
              steps: needed(list([], () => false)),
              disturbances: needed(list([], () => false)),
            },
            false,
          ),
        ],
        ['options', options(simulationOptions)],
      ],
      call: runSimulation,
    },
    runProgram: {
      args: [
        [
          'program',
          options(
            {
              seed: needed(whole(0, 1)),
              setup: needed({
                good: {},
                accepts: (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0,
              }),
              steps: needed(list([], () => false)),
              crashes: needed(list([], () => false)),
            },
            false,
          ),
        ],
        ['options', options({ ...programOptions, namespace: { ...someText(), good: 'program' } })],
      ],
      call: runProgram,
    },
  }
}

const programOptions = {
  store: { ...func(), good: undefined },
  reopen: { ...func(), good: undefined },
  faults: list([], () => false),
  invariants: list([], () => false),
}

const simulationOptions = {
  store: { ...func(), good: undefined },
  fault: { good: undefined, accepts: () => false },
  invariants: list([], () => false),
}

/** Collects no tests of a kit in this file. */
function withRunner<T>(given: T): T {
  const isKit = typeof given === 'object' && given !== null && 'name' in given
  return isKit && (!('runner' in given) || given.runner === undefined)
    ? { ...given, runner: { describe: () => undefined, it: () => undefined } }
    : given
}
