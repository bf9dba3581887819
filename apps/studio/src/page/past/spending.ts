import type { DurableEvent, RunView } from '@bowline/agent-loop/events'
import type { Cost, Usage } from '@bowline/llm'
import { withEntry } from '../parts/growing.ts'
import type { Growing } from '../parts/growing.ts'

/** Tokens and cost by run and by step, in the order of the log. */
export interface Spending {
  readonly runs: readonly RunSpending[]
  /** Values by the id of the answer. */
  readonly steps: Growing<Spent>
}

export interface RunSpending extends Spent {
  readonly runId: string
}

export interface Spent {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Cost. Absent if the price of a part is unknown. */
  readonly cost?: number
  readonly currency?: string
  readonly estimated: boolean
}

export const emptySpending: Spending = { runs: [], steps: [] }
const nothingSpent: Spent = { inputTokens: 0, outputTokens: 0, cost: 0, estimated: false }

/** Returns the spending after an event. `view` includes the event. */
export function foldSpending(spending: Spending, event: DurableEvent, view: RunView): Spending {
  switch (event.type) {
    case 'message-end':
      return {
        runs: withRun(spending.runs, event.runId, view),
        steps: withEntry(spending.steps, event.messageId, spentOf(event.message)),
      }
    case 'usage':
      // The usage of a turn excludes a compaction after it.
      if (view.phase === 'compaction') return { ...spending, runs: [...spending.runs, { runId: event.runId, ...spentOf(event) }] }
      return view.runId === event.runId ? { ...spending, runs: withRun(spending.runs, event.runId, view) } : spending
    case 'turn-end':
      return view.runId === event.runId ? { ...spending, runs: withRun(spending.runs, event.runId, view) } : spending
    default:
      return spending
  }
}

function withRun(runs: readonly RunSpending[], runId: string, view: RunView): readonly RunSpending[] {
  const run = { runId, ...spentOf(view) }
  const place = runs.findLastIndex((known) => known.runId === runId)
  return place < 0 ? [...runs, run] : runs.with(place, run)
}

export function spentOf({ usage, cost }: { readonly usage: Usage; readonly cost?: Cost | undefined }): Spent {
  const { inputTokens = 0, outputTokens = 0 } = usage
  return {
    inputTokens,
    outputTokens,
    ...(cost && { cost: Number(cost.total), currency: cost.currency }),
    ...(!cost && inputTokens + outputTokens === 0 && { cost: 0 }),
    estimated: usage.estimated === true || cost?.estimated === true,
  }
}

export function sumSpent(parts: readonly Spent[]): Spent {
  return parts.reduce((sum, part) => {
    const currency = sum.currency ?? part.currency
    const known = sum.cost !== undefined && part.cost !== undefined && (part.currency ?? currency) === currency
    return {
      inputTokens: sum.inputTokens + part.inputTokens,
      outputTokens: sum.outputTokens + part.outputTokens,
      ...(known && { cost: (sum.cost ?? 0) + (part.cost ?? 0) }),
      ...(currency !== undefined && { currency }),
      estimated: sum.estimated || part.estimated,
    }
  }, nothingSpent)
}
