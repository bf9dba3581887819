import { defineTool } from '@bowline/agent-loop'
import { childScenarios } from './child-scenarios.ts'
import { inputScenarios } from './input-scenarios.ts'
import {
  asking,
  assistant,
  calling,
  done,
  driveToEnd,
  driveToStop,
  effectTool,
  endless,
  inputSchema,
  reconcilable,
} from './scenario-parts.ts'
import type { CrashScenario } from './types.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema })

/** Scenarios for your own stores and runtimes. Run them with `exploreCrashes`. */
export const crashScenarios = {
  /** An input and its answer. */
  text: {
    agents: () => [assistant([], [done])],
    drive: driveToEnd,
  },
  /** A `once` call and an `idempotent` call in one message. */
  tools: {
    agents: (world) => [
      assistant([effectTool(world, 'pay', 'once'), effectTool(world, 'index', 'idempotent')], [calling('pay', 'index'), done]),
    ],
    drive: driveToEnd,
  },
  /** A `once` call with `reconcile`: its service knows whether the call happened. */
  reconcile: {
    agents: (world) => [assistant([reconcilable(world)], [calling('pay'), done])],
    drive: driveToEnd,
  },
  /** One call that is approved, and one that is denied. */
  approval: {
    agents: (world) => [assistant([asking(world, 'pay'), asking(world, 'drop')], [calling('pay', 'drop'), done])],
    drive: driveToEnd,
  },
  /** A second model call that exceeds the budget, until more is granted. */
  budget: {
    agents: (world) => [
      {
        ...assistant([effectTool(world, 'pay', 'once')], [{ ...calling('pay'), usage: { input: 1_000, output: 10 } }, done]),
        limits: { maxTotalTokens: 4_500, onBudget: 'ask' },
      },
    ],
    drive: driveToEnd,
  },
  /** A call that a client answers. */
  remote: {
    agents: () => [assistant([place], [calling('place'), done])],
    drive: driveToEnd,
  },
  /** A run that is stopped during its call. */
  stop: {
    agents: (world) => [assistant([endless(world)], [calling('watch')])],
    drive: driveToStop,
  },
  ...inputScenarios,
  ...childScenarios,
} as const satisfies Readonly<Record<string, CrashScenario>>
