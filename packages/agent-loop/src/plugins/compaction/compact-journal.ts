import { costOf } from '@bowline/llm'
import type { Clock, ModelPrice } from '@bowline/llm'
import { AgentError, messageOf } from '../../base/agent-error.ts'
import type { CompactionResult } from '../../contract/compaction.ts'
import type { ContextUsage } from '../../contract/extension.ts'
import type { Journal, JournalState } from '../../contract/journal.ts'
import type { Budget, Reservation, Spending } from '../../contract/run.ts'
import type { DurableEvent } from '../../events/agent-event.ts'
import type { CompactionTrigger } from '../../events/message-events.ts'
import type { ModelName } from '../../events/turn-events.ts'
import { TurnLog } from '../../journal/turn-log.ts'
import type { Note } from '../../journal/turn-log.ts'
import { StopSwitch } from '../../kernel/stop-switch.ts'
import { Transcript } from '../../transcript/transcript.ts'
import { compact } from './compact.ts'
import type { CompactionHost } from './host.ts'
import { breakerOf } from './policy.ts'

type FromAgent = 'setting' | 'model' | 'contextWindow' | 'ids' | 'summaryModel' | 'effectOf'

/** A compaction as its watchers see it. */
export interface WatchedCompaction {
  readonly journal: Journal
  readonly clock: Clock
  readonly runId: string
  /** Number of the last turn before the compaction. */
  readonly turn: number
  readonly model: ModelName
  readonly stop: StopSwitch
  readonly contextUsage: () => ContextUsage
  /** Drafts an event of a watcher. */
  readonly note: (note: Note) => void
}

export interface CompactionWatch extends Pick<CompactionHost, 'beforeCompaction' | 'afterCompaction' | 'sent'> {
  onEvent?(event: DurableEvent): void
  /** Called last, once the end is stored. `settled`: nothing follows in the conversation. */
  ended?(settled: boolean): Promise<void>
}

/** A compaction of a conversation that has no running turn. */
export interface JournalCompaction extends Pick<CompactionHost, FromAgent> {
  readonly journal: Journal
  readonly clock: Clock
  /** Default: a new id. */
  readonly runId?: string | undefined
  /** Default `manual`; another one for a compaction that a journal has postponed. */
  readonly trigger?: CompactionTrigger | undefined
  /** Additional instructions for the summary. */
  readonly instructions?: string | undefined
  readonly abortSignal?: AbortSignal | undefined
  /** Reserves the cost of the summary. */
  readonly budget?: Budget | undefined
  /** Price of the model that summarises. */
  readonly price?: ModelPrice | undefined
  /** Called before the compaction begins, unless a turn is open. */
  readonly watch?: (compaction: WatchedCompaction) => Promise<CompactionWatch>
}

/** Compacts the conversation of a journal, which the caller has taken. Must not reject: a journal that fails is an outcome too. */
export async function compactJournal(parts: JournalCompaction): Promise<CompactionResult> {
  const stop = new StopSwitch(() => parts.clock.now())
  stop.follow(parts.journal.abortSignal)
  stop.follow(parts.abortSignal)
  let tokensBefore = 0
  try {
    const state = await parts.journal.load()
    const transcript = new Transcript(state, parts.model)
    tokensBefore = transcript.estimate.tokens
    if (state.open) return { outcome: 'skipped', reason: 'a turn is open', tokensBefore }
    const host = await hostOf(parts, state, transcript, stop)
    const { trigger = 'manual', instructions } = parts
    const result = await compact(host, { trigger, ...(instructions !== undefined && { instructions }) })
    await host.ended()
    return result
  } catch (error) {
    return { outcome: 'failed', reason: messageOf(error), tokensBefore }
  } finally {
    stop.release()
  }
}

type EndedHost = CompactionHost & { ended(): Promise<void> }

async function hostOf(parts: JournalCompaction, state: JournalState, transcript: Transcript, stop: StopSwitch): Promise<EndedHost> {
  const { turns: turn } = state
  const { shown: view, estimate } = transcript
  const { journal, clock, ids, setting, model, contextWindow } = parts
  const { runId = ids.next('run') } = parts
  let last: DurableEvent['type'] | undefined
  // A log needs a turn for every event of a run: the turn before the compaction.
  const log = new TurnLog(journal, {
    runId,
    number: turn,
    clock,
    get isFenced() {
      return stop.cause?.kind === 'fenced'
    },
    show: (events) => {
      for (const event of events) {
        last = event.type
        watch.onEvent?.(event)
      }
    },
    rowFacts: () => {
      throw new TypeError('a compaction without a turn has no row of a run')
    },
    takeStates: () => false,
  })
  const contextUsage = (): ContextUsage => ({ tokens: estimate.tokens, ...(contextWindow !== undefined && { contextWindow }) })
  const note: WatchedCompaction['note'] = (fields) => log.record(fields)
  const watch: CompactionWatch = (await parts.watch?.({ journal, clock, runId, turn, model, stop, contextUsage, note })) ?? {}
  return {
    setting,
    view,
    estimate,
    model,
    contextWindow,
    ids,
    breaker: breakerOf(journal),
    abortSignal: stop.signal,
    summaryModel: (policy) => parts.summaryModel(policy),
    effectOf: (toolName) => parts.effectOf(toolName),
    record: (event) => log.record(event),
    store: (compaction) => log.write({ type: 'compaction', compaction }),
    async commit(boundary) {
      if (stop.cause?.kind === 'fenced') throw new AgentError('fenced', 'another process has taken over the conversation')
      await (boundary === 'end' ? log.commitEnd() : log.commit())
    },
    reserve: (expected) =>
      reserveFor(parts, expected, (message) => note({ type: 'error', source: 'extension', name: 'budget', message, fatal: false })),
    book: () => undefined,
    ...(watch.sent && { sent: watch.sent }),
    beforeCompaction: async (event) => watch.beforeCompaction?.(event),
    async afterCompaction(compaction) {
      await watch.afterCompaction?.(compaction)
    },
    async ended() {
      if (last === undefined || stop.leaving) return
      await watch.ended?.(last === 'settled')
      await log.commit()
    },
  }
}

/** Rejects if the budget fails. If `settle` of the reservation fails, `tell` is called. */
async function reserveFor(
  { budget, price }: JournalCompaction,
  expected: Expected,
  tell: (message: string) => void,
): Promise<Reservation | undefined> {
  if (!budget) return { settle: () => undefined }
  const cost = costOf(expected, price)
  const reservation = await budget.reserve({ tokens: expected.inputTokens + expected.outputTokens, ...(cost && { cost }) })
  return reservation && { settle: (actual) => settleOf(reservation, actual, tell) }
}

async function settleOf(reservation: Reservation, actual: Spending, tell: (message: string) => void): Promise<void> {
  try {
    await reservation.settle(actual)
  } catch (error) {
    tell(`settle of a reservation failed: ${messageOf(error)}`)
  }
}

type Expected = Parameters<CompactionHost['reserve']>[0]
