import { holdingClock, systemClock } from '@bowline/llm'
import { checkJournal, checkKeys, checkMethods, checkOneOf, checkSignal, checkText } from '../base/checks.ts'
import { systemIds } from '../base/ids.ts'
import type { CompactOptions } from '../contract/agent.ts'
import type { CompactionResult } from '../contract/compaction.ts'
import type { CompactionTrigger } from '../events/types.ts'
import { modelTarget } from '../kernel/model-target.ts'
import { releaseJournal, takeJournal } from '../kernel/phases.ts'
import { compactJournal } from '../plugins/compaction/compact-journal.ts'
import { summaryModelFor } from '../plugins/compaction/compaction.ts'
import type { AgentDefinition } from '../run/definition.ts'
import { watchCompaction } from './compaction-observers.ts'
import type { Spawn } from './compaction-observers.ts'

const triggers: readonly CompactionTrigger[] = ['threshold', 'overflow', 'window', 'requested', 'manual']

/** Between two turns. Throws `busy` and `invalid-config`; all else is the outcome. */
export function compactConversation(agent: AgentDefinition, options: CompactOptions, spawnChild: Spawn): Promise<CompactionResult> {
  checkKeys('compact.options', options, ['journal', 'instructions', 'abortSignal', 'clock', 'ids', 'runId', 'trigger'])
  checkText('instructions', options.instructions)
  checkText('runId', options.runId)
  checkOneOf('trigger', options.trigger, triggers)
  checkJournal('journal', options.journal)
  checkSignal('abortSignal', options.abortSignal)
  checkMethods('clock', options.clock, ['now', 'setTimer'])
  checkMethods('ids', options.ids, ['next'])
  const { journal, instructions, runId, trigger, abortSignal, ids = systemIds } = options
  const clock = holdingClock(options.clock ?? systemClock)
  const model = modelTarget(agent.model, agent.models, agent.runtimeParams)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  takeJournal(journal, 'compaction')
  return compactJournal({
    ...{ journal, clock, ids, runId, trigger, instructions, abortSignal, setting: agent.compaction },
    ...{ model: model.name, contextWindow: model.info.contextWindow },
    summaryModel: (policy) => summaryModelFor(agent, model, clock, policy),
    effectOf: (toolName) => agent.tools.get(toolName)?.effect,
    watch: (compaction) => watchCompaction(agent, compaction, { ended, spawnChild }),
  }).finally(() => {
    releaseJournal(journal)
    end()
  })
}
