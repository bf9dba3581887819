import type { Clock } from '@bowline/llm'
import { AgentError, messageOf } from '../agent-error.ts'
import type { CompactionTrigger, DurableEvent } from '../events/types.ts'
import { deepFreeze } from '../json.ts'
import { Draft } from '../journal/draft.ts'
import type { Journal, JournalRecord, JournalState } from '../journal/journal.ts'
import { StopSwitch } from '../run/stop-switch.ts'
import { View } from '../transcript/view.ts'
import { breakerOf } from './breaker.ts'
import { compact } from './compact.ts'
import type { CompactionHost } from './compact.ts'
import { ContextEstimate } from './estimate.ts'
import type { CompactionResult } from './policy.ts'

type FromAgent = 'setting' | 'model' | 'contextWindow' | 'ids' | 'summaryModel' | 'effectOf' | 'beforeCompaction' | 'afterCompaction'

/** A compaction of a conversation that has no turn under way. */
export interface JournalCompaction extends Pick<CompactionHost, FromAgent> {
  readonly journal: Journal
  readonly clock: Clock
  /** Of instructions and declarations of tools, when they are known. */
  readonly promptCharacters?: number | undefined
  /** Default `manual`; another one for a compaction that a journal has put off. */
  readonly trigger?: CompactionTrigger | undefined
  /** Extra focus of the summary. */
  readonly instructions?: string | undefined
  readonly abortSignal?: AbortSignal | undefined
}

/** It must not reject: a journal that fails is an outcome too. The caller has taken the journal. */
export async function compactJournal(parts: JournalCompaction): Promise<CompactionResult> {
  const stop = new StopSwitch(() => parts.clock.now())
  stop.follow(parts.journal.abortSignal)
  stop.follow(parts.abortSignal)
  let tokensBefore = 0
  try {
    const state = await parts.journal.load()
    const host = hostOf(parts, state, stop)
    tokensBefore = host.estimate.tokens
    if (state.open) return { outcome: 'skipped', reason: 'a turn is open', tokensBefore }
    const { trigger = 'manual', instructions } = parts
    return await compact(host, { trigger, ...(instructions !== undefined && { instructions }) })
  } catch (error) {
    return { outcome: 'failed', reason: messageOf(error), tokensBefore }
  } finally {
    stop.release()
  }
}

function hostOf(parts: JournalCompaction, state: JournalState, stop: StopSwitch): CompactionHost {
  const { journal, clock, ids, setting, model, contextWindow } = parts
  const draft = new Draft(journal, clock, () => undefined)
  const runId = ids.next('run')
  // A log needs a turn for every event of a run: it is that behind which the compaction stands.
  const eventOf = (fields: object): JournalRecord => ({
    type: 'event',
    event: deepFreeze({ ...fields, at: clock.now(), runId, turn: state.turns } as DurableEvent),
  })
  const { view, estimate } = contextOf(parts, state)
  return {
    ...{ setting, view, estimate, model, contextWindow, ids },
    breaker: breakerOf(journal),
    abortSignal: stop.signal,
    summaryModel: (policy) => parts.summaryModel(policy),
    effectOf: (toolName) => parts.effectOf(toolName),
    record: (event) => draft.add(eventOf(event)),
    store: (compaction) => draft.add({ type: 'compaction', compaction }),
    async commit(boundary) {
      if (stop.cause?.kind === 'fenced') throw new AgentError('fenced', 'the conversation belongs to another process')
      const settled = eventOf({ type: 'settled' })
      if (boundary === 'end' && (await draft.commit({ nothingQueued: true }, [settled])) === 'stored') return
      await draft.commit()
    },
    // No budget stands behind a journal.
    reserve: () => ({ settle: () => undefined }),
    book: () => undefined,
    beforeCompaction: async (event) => parts.beforeCompaction?.(event),
    afterCompaction: async (compaction) => parts.afterCompaction?.(compaction),
  }
}

function contextOf({ model, promptCharacters }: JournalCompaction, state: JournalState): Pick<CompactionHost, 'view' | 'estimate'> {
  const view = new View()
  for (const message of state.messages) view.append(message)
  if (state.compaction) view.setCompaction(state.compaction)
  const estimate = new ContextEstimate(model, state.calibration)
  if (promptCharacters !== undefined) estimate.usePrompt(promptCharacters)
  estimate.restart(view.messages, view.freshFrom)
  return { view, estimate }
}
