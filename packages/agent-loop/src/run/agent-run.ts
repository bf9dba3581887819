import { definedFields } from '@bowline/llm/arguments'
import { refuseConfig } from '../base/checks.ts'
import { systemIds } from '../base/ids.ts'
import type { RunOptions } from '../contract/agent.ts'
import type { AgentInput } from '../contract/input.ts'
import type { AgentRun } from '../contract/run.ts'
import { createMemoryJournal } from '../journal/memory-journal.ts'
import { phaseOf, releaseJournal, takeJournal } from '../journal/phases.ts'
import type { Ancestry } from '../kernel/run-context.ts'
import type { ChildRuns, ChildSetup } from '../plugins/subagents/child.ts'
import { orderOf } from '../transcript/input.ts'
import { checkReaderOptions, checkRunOptions } from './check-run-options.ts'
import { definitionOf } from './definition.ts'
import type { AgentDefinition } from './definition.ts'
import { iterate } from './gate.ts'
import { perform } from './perform.ts'
import { openTurn, RunParts } from './run-parts.ts'

const root: Ancestry = { path: [], budgets: [], maxDepth: Infinity, onBudget: 'end' }

/** Starts a run. Misuse throws here, before anything is stored. */
export function startRun(agent: AgentDefinition, input: AgentInput | undefined, given: RunOptions, ancestry = root): AgentRun {
  checkRunOptions(given)
  const order = orderOf(input)
  const options = { ...agent.runDefaults, ...definedFields(given) }
  if (order.kind === 'answers' && options.journal === undefined)
    refuseConfig('run.options.journal must be the journal of the turn that waits for these answers; received undefined')
  const { ids = systemIds, messages = [] } = options
  const journal = options.journal ?? createMemoryJournal({ messages })
  const parts = new RunParts(agent, options, journal, ancestry)
  const { events, gate, stop, inbox } = parts
  let runId = options.runId ?? (order.kind === 'message' ? ids.next('run') : '')
  takeJournal(journal, 'turn')
  stop.follow(options.abortSignal)
  stop.follow(journal.abortSignal)
  stop.followLoss(ancestry.stop)
  const result = perform(parts, { order, input, runId, onRunId: (id) => (runId = id) }).finally(() => {
    stop.release()
    gate.open()
    inbox.end()
    releaseJournal(journal)
    events.close()
  })
  void result.then(parts.end)
  const { onBreak = 'continue' } = options
  const abort = (reason?: string): void => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) })
  return {
    get runId() {
      return runId
    },
    get phase() {
      return phaseOf(journal)
    },
    events(readerOptions) {
      checkReaderOptions(readerOptions)
      return events.read(readerOptions)
    },
    [Symbol.asyncIterator]: () =>
      iterate({ events, gate, onBreak: () => (onBreak === 'abort' ? abort('the iteration that drives the run was ended') : undefined) }),
    result() {
      gate.openUnlessDriven()
      return result
    },
    steer: (steered) => inbox.offer('steer', steered),
    followUp: (next) => parts.followUp(next),
    overlay: (overlaid) => inbox.offer('overlay', overlaid),
    abort,
    child: (toolCallId) => parts.children.get(toolCallId),
  }
}

/** Starts runs of subagents, and inspects their turns. */
export const childRuns: ChildRuns = {
  start: (setup, input, abortSignal) => startRun(definitionFor(setup), input, { ...setup.options, abortSignal }, setup.ancestry),
  open: (setup, state, runId) => openTurn(new RunParts(definitionFor(setup), setup.options, setup.journal, setup.ancestry), state, runId),
}

function definitionFor({ subagent, abortGraceMs }: ChildSetup): AgentDefinition {
  const agent = definitionOf(subagent.source)
  if (!agent) throw new TypeError(`the subagent ${subagent.name} is not made by defineAgent`)
  return { ...agent, abortGraceMs: Math.min(agent.abortGraceMs, abortGraceMs) }
}
