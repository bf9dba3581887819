import { defineAgent, type AgentOptions } from '@bowline/agent-loop'
import { scriptedModel, type Step } from '@bowline/llm/testing'
import { standardInvariants } from './invariants.ts'
import { asking, done, driveToEnd, effectTool } from './scenario-parts.ts'
import type { CrashScenario, Invariant } from './types.ts'

/** Checks that every session gets one reminder for all of its background tasks. */
const remindedOnce: Invariant = {
  name: 'a session is reminded once of its background tasks',
  check: ({ sessions }) =>
    sessions.flatMap(({ record, log }) => {
      const isParent = sessions.some(({ runs }) => runs.some(({ parent }) => parent?.session === record.key && parent.taskId !== undefined))
      const reminders = log.filter((event) => event.type === 'runtime-input' && event.source === 'notify').length
      return reminders === (isParent ? 1 : 0) ? [] : [`${record.key} was reminded ${reminders} times`]
    }),
}

/** Scenarios with subagents. */
export const childScenarios = {
  /** The parent waits for the subagent, whose call needs approval. */
  child: {
    agents: (world) => {
      const helper = defineAgent({ ...agent('helper', call('pay')), description: 'Helps.', tools: [asking(world, 'pay')] })
      return [{ ...agent('assistant', call('delegate_to_helper', { prompt: 'pay' })), subagents: [helper] }]
    },
    drive: driveToEnd,
  },
  /** The subagent has too little budget for its second model call, and the run above asks for more. */
  childBudget: {
    agents: (world) => {
      const limits = { maxTotalTokens: 4_500 } as const
      const helper = defineAgent({
        ...agent('helper', { ...call('pay'), usage: { input: 1_000, output: 10 } }),
        description: 'Helps.',
        tools: [effectTool(world, 'pay', 'once')],
        limits,
      })
      return [{ ...agent('assistant', call('delegate_to_helper', { prompt: 'pay' })), subagents: [helper], limits: { onBudget: 'ask' } }]
    },
    drive: driveToEnd,
  },
  /** Subagents in the background, three levels deep. Each parent ends before the subagent that it has started. */
  background: {
    agents: (world) => {
      const leaf = defineAgent({
        ...agent('leaf', call('index')),
        description: 'Works.',
        tools: [effectTool(world, 'index', 'idempotent', { takesMs: 2_000 })],
      })
      const helper = defineAgent({ ...agent('helper', launch('leaf')), description: 'Helps.', subagents: [leaf] })
      return [{ ...agent('assistant', launch('helper')), subagents: [helper] }]
    },
    drive: driveToEnd,
    invariants: [...standardInvariants, remindedOnce],
  },
} as const satisfies Readonly<Record<string, CrashScenario>>

/** Returns an agent whose model makes one call and then answers that all is done. */
function agent(name: string, first: Step): AgentOptions {
  return { name, model: scriptedModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? done : first)) }
}

function call(name: string, input: Readonly<Record<string, string | boolean>> = {}): Step {
  return { toolCalls: [{ id: `call-${name}`, name, input }] }
}

function launch(name: string): Step {
  return call(`delegate_to_${name}`, { prompt: 'go', run_in_background: true })
}
