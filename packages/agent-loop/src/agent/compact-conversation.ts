import { holdingClock, systemClock } from '@bowline/llm'
import { checkFields, checkJournal, checkMethods, checkOneOf, checkRequired, checkSignal, checkText } from '../base/checks.ts'
import { systemIds } from '../base/ids.ts'
import { isRecord } from '../base/json.ts'
import type { CompactOptions } from '../contract/agent.ts'
import type { CompactionResult } from '../contract/compaction.ts'
import type { Extension, ExtensionContext } from '../contract/extension.ts'
import type { CompactionTrigger } from '../events/message-events.ts'
import { phaseOf, releaseJournal, takeJournal } from '../journal/phases.ts'
import { modelTarget } from '../kernel/model-target.ts'
import { checkPrices } from '../kernel/spending.ts'
import { compactJournal } from '../plugins/compaction/compact-journal.ts'
import type { CompactionWatch, WatchedCompaction } from '../plugins/compaction/compact-journal.ts'
import { summaryModelFor, summaryModels } from '../plugins/compaction/compaction.ts'
import { askCompaction } from '../plugins/extensions/ask-hooks.ts'
import { HandlerCalls } from '../plugins/extensions/call-handlers.ts'
import { stepFields } from '../plugins/extensions/extension-context.ts'
import type { AgentDefinition } from '../run/definition.ts'
import { userMessageFor } from '../transcript/input.ts'
import { contextWithoutTurn, refusedInput, type OutsideTurn } from './context-without-turn.ts'

const triggers: readonly CompactionTrigger[] = ['threshold', 'overflow', 'window', 'requested', 'manual']

/** Compacts a conversation between two turns. Throws `busy` and `invalid-config`; every other failure is in the outcome. */
export function compactConversation(agent: AgentDefinition, options: CompactOptions, spawnChild: Spawn): Promise<CompactionResult> {
  checkRequired('compact.options', options, 'an object', isRecord)
  checkFields<CompactOptions>('compact.options', options, {
    instructions: checkText,
    runId: checkText,
    sessionKey: checkText,
    journal: checkJournal,
    abortSignal: checkSignal,
    trigger: (path, value) => checkOneOf(path, value, triggers),
    clock: (path, value) => checkMethods(path, value, ['now', 'setTimer']),
    ids: (path, value) => checkMethods(path, value, ['next']),
    budget: (path, value) => checkMethods(path, value, ['reserve', 'charge']),
  })
  const { journal, instructions, runId, trigger, abortSignal, budget, sessionKey, ids = systemIds } = options
  const clock = holdingClock(options.clock ?? systemClock)
  const model = modelTarget(agent.model, agent.models, agent.runtimeParams)
  const [summarising = model] = summaryModels(agent.compaction, agent.models)
  if (budget) checkPrices([budget], [summarising])
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  takeJournal(journal, 'compaction')
  return compactJournal({
    journal,
    clock,
    ids,
    runId,
    trigger,
    instructions,
    abortSignal,
    budget,
    price: summarising.info.price,
    setting: agent.compaction,
    model: model.name,
    contextWindow: model.info.contextWindow,
    summaryModel: (policy) => summaryModelFor(agent, model, clock, policy),
    effectOf: (toolName) => agent.tools.get(toolName)?.effect,
    watch: (compaction) => watchCompaction(agent, compaction, { ended, spawnChild, sessionKey }),
  }).finally(() => {
    releaseJournal(journal)
    end()
  })
}

const watching = ['beforeCompaction', 'afterCompaction', 'onModelRequest', 'onSavePoint', 'onSettled', 'onEvent'] as const

type Spawn = ExtensionContext['spawnChild']

interface Outside {
  readonly ended: Promise<void>
  readonly spawnChild: Spawn
  readonly sessionKey: string | undefined
}

/** Returns the hooks of the agent's extensions, for a compaction outside of a turn. */
async function watchCompaction(agent: AgentDefinition, compaction: WatchedCompaction, outside: Outside): Promise<CompactionWatch> {
  const { clock, stop, note, turn } = compaction
  if (!agent.extensions.some(({ hooks }) => watching.some((hook) => hooks[hook] !== undefined))) return {}
  const contexts = new Map<Extension, ExtensionContext>()
  let prompt = ''
  const calls = new HandlerCalls({
    extensions: agent.extensions,
    clock,
    abortSignal: stop.signal,
    // There is no turn that a failure could end.
    hasEnded: () => true,
    contextOf(extension) {
      const context = contexts.get(extension) ?? contextWithoutTurn(agent, contextParts(compaction, { ...outside, prompt: () => prompt }))
      contexts.set(extension, context)
      return context
    },
    onError: ({ extension: name, hook, message, fatal }) => note({ type: 'error', source: 'extension', name, hook, message, fatal }),
  })
  prompt = agent.pinnedPrompt?.text ?? (await promptOf(agent, compaction))
  return {
    beforeCompaction: (event) => askCompaction(calls, event),
    afterCompaction: (compacted) => calls.tell('afterCompaction', { compaction: compacted }),
    ...(calls.listeners('onModelRequest').length > 0 && { sent: (sent) => calls.tell('onModelRequest', sent) }),
    onEvent: (event) => calls.show(event),
    async ended(settled) {
      await calls.tell('onSavePoint', { turn })
      if (settled) await calls.tell('onSettled', { turn })
    },
  }
}

/** Returns an empty text if no prompt is built, for example because the compaction is stopped meanwhile. */
async function promptOf({ promptCache, toolNames }: AgentDefinition, { clock, stop }: WatchedCompaction): Promise<string> {
  const options = { clock, abortSignal: stop.signal }
  const built = await promptCache.get({ tools: toolNames, now: clock.now() }, options).catch(() => undefined)
  return built?.text ?? ''
}

function contextParts(
  { journal, runId, turn, model, stop, note, contextUsage }: WatchedCompaction,
  { ended, prompt, ...outside }: Outside & { readonly prompt: () => string },
): OutsideTurn {
  return {
    ...outside,
    runId,
    turn,
    model,
    stop,
    contextUsage,
    instructions: prompt,
    journal: () => phaseOf(journal),
    followUp: async (input) => journal.enqueue?.(userMessageFor(input)) ?? refusedInput,
    waitForIdle: () => ended,
    logStep: (fields) => note({ type: 'orchestration-step', ...stepFields(fields) }),
  }
}
