import { scriptedModel } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { exploreCrashes, exploreStoreFaults, faultyStore } from '@bowline/testing/crashes'
import { testPlacement } from '@bowline/testing/placement'
import { testRowStore, testStateStore } from '@bowline/testing/stores'
import { boolean, func, list, made, needed, oneOf, options, someText, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow } from '../../../scripts/argument-table.ts'

/** Returns the rows of the exports for tests. */
export function testingRows(): Readonly<Record<string, ShapedRow>> {
  const runner = options({ describe: needed(func()), it: needed(func()) })
  const rule = [{ of: 'commit', fault: 'unavailable' }]
  return {
    faultyStore: {
      args: [
        ['store', made(memoryStore())],
        ['faults', list(rule, () => false)],
      ],
      call: faultyStore,
    },
    testRowStore: {
      args: [
        [
          '',
          options(
            {
              name: needed(someText()),
              create: needed(func()),
              reopen: func(),
              second: func(),
              cut: func(),
              destroy: func(),
              programs: whole(1, 1),
              seed: whole(0, 1),
              runner,
            },
            false,
          ),
        ],
      ],
      call: (given) => testRowStore(withRunner(given)),
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
    testPlacement: {
      args: [
        [
          '',
          options(
            {
              name: needed(someText()),
              host: needed(func()),
              programs: whole(1, 1),
              seed: whole(0, 1),
              store: func(),
              time: oneOf('system', 'simulated'),
              withinMs: whole(1, 1),
              runner,
            },
            false,
          ),
        ],
      ],
      call: (given) => testPlacement(withRunner(given)),
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
  }
}

/** Collects no tests of a kit in this file. */
function withRunner<T>(given: T): T {
  const isKit = typeof given === 'object' && given !== null && 'name' in given
  return isKit && (!('runner' in given) || given.runner === undefined)
    ? { ...given, runner: { describe: () => undefined, it: () => undefined } }
    : given
}
