import { defineTool } from '@bowline/agent-loop'
import { childScenarios } from './child-scenarios.ts'
import { inputScenarios } from './input-scenarios.ts'
import { asking, assistant, calling, done, driveToEnd, driveToStop, effectTool, endless, inputSchema, reconcilable } from './scenario-parts.ts'
import type { CrashScenario } from './types.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema })

/** Scenarios for stores and runtimes of your own, to run with `exploreCrashes`. */
export const crashScenarios = {
  /** An input and its answer. */
  text: {
    agents: () => [assistant([], [done])],
    drive: driveToEnd,
  },
  /** A call that must not happen twice beside one that may, under its key. */
  tools: {
    agents: (world) => [assistant([effectTool(world, 'pay', 'once'), effectTool(world, 'index', 'idempotent')], [calling('pay', 'index'), done])],
    drive: driveToEnd,
  },
  /** A call that must not happen twice, of which its service can tell whether it happened. */
  reconcile: {
    agents: (world) => [assistant([reconcilable(world)], [calling('pay'), done])],
    drive: driveToEnd,
  },
  /** One call that is approved, one that is denied. */
  approval: {
    agents: (world) => [assistant([asking(world, 'pay'), asking(world, 'drop')], [calling('pay', 'drop'), done])],
    drive: driveToEnd,
  },
  /** A second model call for which there is nothing left, until more is granted. */
  budget: {
    agents: (world) => [{ ...assistant([effectTool(world, 'pay', 'once')], [{ ...calling('pay'), usage: { input: 1_000, output: 10 } }, done]), limits: { maxTotalTokens: 4_500, onBudget: 'ask' } }],
    drive: driveToEnd,
  },
  /** A call that is answered from outside. */
  remote: {
    agents: () => [assistant([place], [calling('place'), done])],
    drive: driveToEnd,
  },
  /** A run that is stopped while its call is under way. */
  stop: {
    agents: (world) => [assistant([endless(world)], [calling('watch')])],
    drive: driveToStop,
  },
  ...inputScenarios,
  ...childScenarios,
} as const satisfies Readonly<Record<string, CrashScenario>>
