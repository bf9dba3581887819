import { manualClock, scriptedModel } from '@bowline/llm/testing'
import type { ScriptedModel, Step } from '@bowline/llm/testing'
import type { CompactionPolicy, CompactionResult, Compactor } from '../../../src/contract/compaction.ts'
import type { StoredMessage } from '../../../src/contract/journal.ts'
import type { Spending } from '../../../src/contract/run.ts'
import type { Compaction } from '../../../src/events/message-events.ts'
import { compact } from '../../../src/plugins/compaction/compact.ts'
import type { CompactionHost, CompactionOrder, CompactionRecord } from '../../../src/plugins/compaction/host.ts'
import { Breaker, compactionPolicyOf } from '../../../src/plugins/compaction/policy.ts'
import { summaryModel } from '../../../src/plugins/compaction/summary.ts'
import { fakeIds } from '@bowline/testing'
import { ContextEstimate } from '../../../src/transcript/estimate.ts'
import { View } from '../../../src/transcript/view.ts'
import { testModel } from './messages.ts'

export interface TestHost extends CompactionHost {
  readonly scripted: ScriptedModel
  /** Types of the records of each commit, in order. */
  readonly commits: readonly (readonly string[])[]
  readonly events: readonly CompactionRecord[]
  readonly booked: readonly Spending[]
  readonly settled: readonly Spending[]
  run(order?: Partial<CompactionOrder>): Promise<CompactionResult>
  append(...messages: readonly StoredMessage[]): void
}

export interface TestHostOptions extends Partial<
  Pick<CompactionHost, 'abortSignal' | 'beforeCompaction' | 'afterCompaction' | 'effectOf' | 'reserve' | 'commit' | 'breaker'>
> {
  readonly messages?: readonly StoredMessage[]
  readonly compaction?: Partial<CompactionPolicy> | Compactor | false
  readonly steps?: readonly Step[]
  readonly contextWindow?: number
  /** Window of the model that writes the summary. Default: the conversation's. */
  readonly summaryWindow?: number
}

/**
 * Creates a conversation in memory, without a turn. Compaction keeps about 100 characters of it, unless the policy sets another
 * size.
 */
export function testHost(options: TestHostOptions = {}): TestHost {
  const { messages = [], compaction = {}, steps = [], contextWindow = 100_000 } = options
  const option = compaction !== false && !('compact' in compaction) ? { keepRecentTokens: 25, ...compaction } : compaction
  const scripted = scriptedModel(steps)
  const view = new View()
  const estimate = new ContextEstimate(testModel)
  const commits: string[][] = []
  const events: CompactionRecord[] = []
  const booked: Spending[] = []
  const settled: Spending[] = []
  let drafted: string[] = []
  const host: CompactionHost = {
    setting: compactionPolicyOf(option),
    view,
    estimate,
    breaker: options.breaker ?? new Breaker(),
    model: testModel,
    contextWindow,
    abortSignal: options.abortSignal ?? new AbortController().signal,
    ids: fakeIds(),
    summaryModel: () =>
      summaryModel({
        model: scripted,
        name: testModel,
        contextWindow: options.summaryWindow ?? contextWindow,
        clock: manualClock(),
        cache: 'auto',
      }),
    effectOf: options.effectOf ?? (() => undefined),
    record(event) {
      drafted.push(event.type)
      events.push(event)
    },
    store: (_compaction: Compaction) => drafted.push('record'),
    async commit(boundary) {
      await options.commit?.(boundary)
      commits.push(drafted)
      drafted = []
    },
    reserve: options.reserve ?? (() => ({ settle: (actual) => void settled.push(actual) })),
    book: (usage, cost) => booked.push({ usage, cost }),
    ...(options.beforeCompaction && { beforeCompaction: options.beforeCompaction }),
    ...(options.afterCompaction && { afterCompaction: options.afterCompaction }),
  }
  const append = (...added: readonly StoredMessage[]): void => {
    for (const message of added) if (view.append(message)) estimate.append(message)
  }
  append(...messages)
  const run: TestHost['run'] = (order = {}) => compact(host, { trigger: 'manual', ...order })
  return { ...host, scripted, commits, events, booked, settled, run, append }
}

/** Returns all text of the request for a summary. */
export function requestText(scripted: ScriptedModel, call = 0): string {
  return (scripted.calls[call]?.prompt ?? [])
    .map(({ content }) => (typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : '')).join('')))
    .join('\n')
}
