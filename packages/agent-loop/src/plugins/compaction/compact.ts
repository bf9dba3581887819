import { deepFreeze } from '../../base/json.ts'
import type { CompactionResult } from '../../contract/compaction.ts'
import type { Compaction } from '../../events/message-events.ts'
import { markedSummary } from '../../transcript/view.ts'
import type { CompactionHost, CompactionOrder, CompactionTask } from './host.ts'
import { makeCompaction } from './make-compaction.ts'
import type { Made } from './make-compaction.ts'

/**
 * Makes a compaction and stores it with its events. Whatever goes wrong on the way is its outcome and leaves the view
 * as it is; it rejects only when a commit does. It does not check whether it is due.
 */
export async function compact(host: CompactionHost, order: CompactionOrder): Promise<CompactionResult> {
  const tokensBefore = host.estimate.tokens
  if (host.setting.kind === 'off') return { outcome: 'skipped', reason: 'compaction is off', tokensBefore }
  const task: CompactionTask = { ...order, compactionId: host.ids.next('compaction'), tokensBefore }
  const { compactionId, trigger } = task
  host.record({ type: 'compaction-start', compactionId, trigger, tokensBefore })
  const made = await makeCompaction(host, host.setting, task)
  const compaction = made.outcome === 'done' ? compactionOf(host, task, made) : undefined
  bookUsage(host, made)
  host.record({
    ...{ type: 'compaction-end', compactionId, outcome: made.outcome },
    ...(made.outcome !== 'done' && { reason: made.reason }),
    ...(compaction && { compaction }),
  })
  if (compaction) host.store(compaction)
  await host.commit('end')
  judge(host, task, made, compaction)
  if (compaction) {
    host.view.setCompaction(compaction)
    host.estimate.restart(host.view.messages, host.view.freshFrom)
    await host.afterCompaction?.(compaction)
  }
  return resultOf(task, made, compaction)
}

/** The compaction as it is stored. Its size is estimated with what will be kept. */
function compactionOf(host: CompactionHost, { compactionId, tokensBefore }: CompactionTask, made: Extract<Made, { outcome: 'done' }>): Compaction {
  const { summary, index, facts, source, spent } = made
  const { uncompacted } = host.view
  const kept = uncompacted.slice(index)
  const last = uncompacted.at(-1)
  return deepFreeze({
    ...{ compactionId, summary, firstKeptMessageId: kept[0]?.id ?? '' },
    ...(last && { lastMessageId: last.id }),
    tokensBefore,
    tokensAfter: host.estimate.tokensWith([markedSummary({ compactionId, summary, facts }), ...kept]),
    ...{ facts, source, usage: spent?.usage ?? {} },
  })
}

function bookUsage(host: CompactionHost, { spent }: Made): void {
  if (!spent) return
  const { usage, cost, model } = spent
  host.book(usage, cost)
  host.record({
    ...{ type: 'usage', purpose: 'compaction', usage },
    ...(cost && { cost }),
    ...(usage.estimated && { estimated: true as const }),
    ...(model && { model }),
  })
}

/** Keeps the breaker: what was skipped or stopped says nothing. */
function judge(host: CompactionHost, task: CompactionTask, { outcome }: Made, compaction: Compaction | undefined): void {
  const { setting, breaker, model } = host
  if (setting.kind === 'off' || outcome === 'skipped' || outcome === 'cancelled') return
  const shrink = compaction ? 1 - compaction.tokensAfter / Math.max(1, task.tokensBefore) : 0
  const isUseful = compaction !== undefined && (task.trigger === 'manual' || shrink >= setting.policy.minShrink)
  if (isUseful) breaker.close()
  else breaker.addUseless(model)
}

function resultOf({ tokensBefore }: CompactionTask, made: Made, compaction: Compaction | undefined): CompactionResult {
  return {
    ...{ outcome: made.outcome, tokensBefore },
    ...(made.outcome !== 'done' && { reason: made.reason }),
    ...(made.spent && { usage: made.spent.usage }),
    ...(compaction && { compaction, tokensAfter: compaction.tokensAfter }),
  }
}
