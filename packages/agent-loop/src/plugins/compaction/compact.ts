import type { Cost, Message, SentRequest, Usage } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { checkObject } from '../../base/checks.ts'
import { copyJson, deepFreeze } from '../../base/json.ts'
import { untilAborted } from '../../base/promises.ts'
import type { CompactionPolicy, CompactionResult, Compactor } from '../../contract/compaction.ts'
import type { Compaction, Fact } from '../../events/message-events.ts'
import type { ModelName } from '../../events/turn-events.ts'
import { weigh } from '../../transcript/estimate.ts'
import { markedSummary } from '../../transcript/view.ts'
import { findCut, isLegalCut, keptSizeOf } from './cut.ts'
import type { Cut } from './cut.ts'
import { checkedFacts, findFacts, mergeFacts } from './facts.ts'
import type { CompactionHost, CompactionOrder, CompactionTask } from './host.ts'
import type { CompactionSetting } from './policy.ts'
import { readSummary, summaryRequest, summarySizeOf } from './summary.ts'

/**
 * Makes a compaction and stores it with its events. Does not check whether it is due. Rejects only if a commit does: any other
 * failure is an outcome and leaves the view as it is.
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
    type: 'compaction-end',
    compactionId,
    outcome: made.outcome,
    ...(made.outcome !== 'done' && { reason: made.reason }),
    ...(compaction && { compaction }),
  })
  if (compaction) host.store(compaction)
  await host.commit('end')
  judge(host, task, made, compaction)
  if (compaction) {
    host.view.setCompaction(compaction)
    host.estimate.restart(host.view)
    await host.afterCompaction?.(compaction)
  }
  return resultOf(task, made, compaction)
}

/** Returns the compaction as it is stored. Its size is estimated with the messages that will be kept. */
function compactionOf(
  host: CompactionHost,
  { compactionId, tokensBefore }: CompactionTask,
  made: Extract<Made, { outcome: 'done' }>,
): Compaction {
  const { summary, index, facts, source, spent } = made
  const { uncompacted } = host.view
  const kept = uncompacted.slice(index)
  const last = uncompacted.at(-1)
  return deepFreeze({
    compactionId,
    summary,
    firstKeptMessageId: kept[0]?.id ?? '',
    ...(last && { lastMessageId: last.id }),
    tokensBefore,
    tokensAfter: host.estimate.tokensWith([markedSummary({ compactionId, summary, facts }), ...kept]),
    facts,
    source,
    usage: spent?.usage ?? {},
  })
}

function bookUsage(host: CompactionHost, { spent }: Made): void {
  if (!spent) return
  const { usage, cost, model } = spent
  host.book(usage, cost)
  host.record({
    type: 'usage',
    purpose: 'compaction',
    usage,
    ...(cost && { cost }),
    ...(usage.estimated && { estimated: true as const }),
    ...(model && { model }),
  })
}

/** Updates the breaker. A compaction that was skipped or stopped changes nothing. */
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
    outcome: made.outcome,
    tokensBefore,
    ...(made.outcome !== 'done' && { reason: made.reason }),
    ...(made.spent && { usage: made.spent.usage }),
    ...(compaction && { compaction, tokensAfter: compaction.tokensAfter }),
  }
}

/** Usage of a compaction, whatever its outcome. */
interface Spent {
  readonly usage: Usage
  readonly cost?: Cost | undefined
  readonly model?: ModelName
}

/** `index` is the first kept message in the view without compaction. */
type Made = { readonly spent?: Spent } & (
  | { readonly outcome: 'done'; readonly summary: string; readonly index: number; readonly facts: readonly Fact[]; readonly source: string }
  | { readonly outcome: 'skipped' | 'cancelled' | 'failed'; readonly reason: string }
)

type ActiveSetting = Exclude<CompactionSetting, { kind: 'off' }>

/** Makes the content of a compaction. Stores its beginning, and rejects only if that fails. */
async function makeCompaction(host: CompactionHost, setting: ActiveSetting, task: CompactionTask): Promise<Made> {
  const cut = setting.kind === 'policy' ? cutOf(host, setting.policy, task) : undefined
  const hasWork = setting.kind === 'policy' ? cut !== undefined : host.view.messages.length > 0
  if (!hasWork) return { outcome: 'skipped', reason: 'there are no messages older than those that are kept' }
  await host.commit('start')
  try {
    return await produce(host, setting, task, cut)
  } catch (error) {
    return failureOf(host, error)
  }
}

function failureOf({ abortSignal }: CompactionHost, error: unknown): Made {
  return abortSignal.aborted ? stopped : { outcome: 'failed', reason: messageOf(error) }
}

const stopped: Made = { outcome: 'cancelled', reason: 'it was stopped' }

async function produce(host: CompactionHost, setting: ActiveSetting, task: CompactionTask, cut: Cut | undefined): Promise<Made> {
  if (host.abortSignal.aborted) return stopped
  const { uncompacted, messages } = host.view
  const asked = focusOf(setting.policy.instructions, task.instructions)
  const firstKept = cut && uncompacted[cut.index]
  const decision = await host.beforeCompaction?.({
    trigger: task.trigger,
    messages,
    tokensBefore: task.tokensBefore,
    ...(firstKept && { firstKeptMessageId: firstKept.id }),
    ...(asked.length > 0 && { instructions: asked.join('\n') }),
  })
  if (host.abortSignal.aborted) return stopped
  if (decision && 'cancel' in decision) return { outcome: 'cancelled', reason: decision.reason ?? 'an extension cancelled it' }
  if (decision && 'compaction' in decision) {
    const { summary, firstKeptMessageId } = decision.compaction
    const made = placed(host, { summary, firstKeptMessageId, source: 'extension' }, (index) => factsUpTo(host, setting.policy, index))
    return named('the compaction of an extension', made)
  }
  const focus = focusOf(...asked, decision?.instructions)
  if (setting.kind === 'compactor') {
    const { compactor } = setting
    const made = await askCompactor(host, compactor, task, focus).catch((error: unknown) => failureOf(host, error))
    return named(`the compactor ${compactor.name}`, made)
  }
  return cut ? summarise(host, setting.policy, task, cut, focus) : stopped
}

/** Returns where the default cuts, as an index into the view without compaction. */
function cutOf({ view, estimate, contextWindow }: CompactionHost, policy: CompactionPolicy, task: CompactionTask): Cut | undefined {
  const { uncompacted, keptFrom } = view
  const size = keptSizeOf(policy, contextWindow, task)
  const found = findCut(uncompacted.slice(keptFrom), size, (message) => estimate.tokensOf(weigh(message)))
  if (!found) return undefined
  const { index, turnStart } = found
  return { index: index + keptFrom, ...(turnStart !== undefined && { turnStart: turnStart + keptFrom }) }
}

async function summarise(
  host: CompactionHost,
  policy: CompactionPolicy,
  { compactionId, trigger, tokensBefore }: CompactionTask,
  { index, turnStart }: Cut,
  focus: readonly string[],
): Promise<Made> {
  const { view, estimate, abortSignal } = host
  const { uncompacted, keptFrom, compaction } = view
  const facts = factsUpTo(host, policy, index)
  const model = host.summaryModel(policy)
  const size = summarySizeOf(policy, model, { trigger, tokensBefore, tokensPerCharacter: estimate.tokensPerCharacter })
  const request = summaryRequest({
    messages: uncompacted.slice(keptFrom, index),
    focus,
    maxCharacters: size.maxCharacters,
    ...(turnStart !== undefined && { turnStart: turnStart - keptFrom }),
    ...(compaction && { previous: compaction.summary }),
  })
  if (!request) return { outcome: 'failed', reason: 'the context window has no room for the messages to summarize' }
  const characters = request.instructions.length + request.messages[0].content.length
  const reservation = await host.reserve({ inputTokens: Math.ceil(characters * size.tokensPerCharacter), outputTokens: size.maxTokens })
  if (!reservation) return outOfBudget
  let spent: Spent = { usage: {} }
  const onRequest =
    host.sent &&
    ((sent: SentRequest) => host.sent?.({ id: compactionId, purpose: 'compaction', attempt: 1, model: model.name, request: sent }))
  try {
    const answer = await model.call({ ...request, maxTokens: size.maxTokens, abortSignal, ...(onRequest && { onRequest }) })
    spent = { usage: answer.usage, cost: answer.cost, model: model.name }
    const read = readSummary(answer)
    if (abortSignal.aborted) return { ...stopped, spent }
    if ('failure' in read) return { outcome: 'failed', reason: read.failure, spent }
    return { outcome: 'done', summary: read.summary, index, facts, source: 'default', spent }
  } finally {
    await reservation.settle(spent)
  }
}

const outOfBudget: Made = { outcome: 'skipped', reason: 'the budget is used up' }

async function askCompactor(host: CompactionHost, compactor: Compactor, task: CompactionTask, focus: readonly string[]): Promise<Made> {
  const { view, contextWindow, abortSignal } = host
  const { compactionId, trigger, tokensBefore } = task
  const reservation = await host.reserve({ inputTokens: 0, outputTokens: 0 })
  if (!reservation) return outOfBudget
  let spent: Spent = { usage: {} }
  try {
    const work = Promise.resolve(
      compactor.compact({
        compactionId,
        trigger,
        view: view.messages,
        tokensBefore,
        abortSignal,
        ...(view.compaction && { previous: view.compaction }),
        ...(contextWindow !== undefined && { contextWindow }),
        ...(focus.length > 0 && { instructions: focus.join('\n') }),
      }),
    )
    const answer = await untilAborted(work, abortSignal)
    checkObject('the compaction that it returns', answer)
    if (!answer) return { outcome: 'skipped', reason: `${compactor.name} left the view as it is` }
    const given = copyJson(answer) as unknown as Partial<Compaction>
    spent = { usage: given.usage ?? {} }
    const facts = mergeFacts(view.compaction?.facts ?? [], checkedFacts(given.facts))
    const made = placed(host, { ...given, source: compactor.name }, () => facts)
    return Object.keys(spent.usage).length > 0 ? { ...made, spent } : made
  } finally {
    await reservation.settle(spent)
  }
}

/** Adds to the reason of a failure what has failed. */
function named(what: string, made: Made): Made {
  return made.outcome === 'failed' ? { ...made, reason: `${what} failed: ${made.reason}` } : made
}

/** Checks a given summary: it must be a text, and the kept part must begin where the conversation can be cut. */
function placed(
  { view }: CompactionHost,
  { summary, firstKeptMessageId, source }: Partial<Pick<Compaction, 'summary' | 'firstKeptMessageId'>> & { readonly source: string },
  factsOf: (index: number) => readonly Fact[],
): Made {
  if (typeof summary !== 'string' || summary.trim() === '') return { outcome: 'failed', reason: 'the summary is empty' }
  const { uncompacted } = view
  const index = firstKeptMessageId === '' ? uncompacted.length : uncompacted.findIndex(({ id }) => id === firstKeptMessageId)
  if (index < 1 || !isLegalCut(uncompacted, index)) {
    return {
      outcome: 'failed',
      reason: `firstKeptMessageId ${JSON.stringify(firstKeptMessageId)} is not a message at which the conversation can be cut`,
    }
  }
  return { outcome: 'done', summary, index, facts: factsOf(index), source }
}

function factsUpTo(host: CompactionHost, policy: CompactionPolicy, index: number): readonly Fact[] {
  const { view } = host
  const summarised: readonly Message[] = view.uncompacted.slice(view.keptFrom, index)
  const found = copyJson(findFacts(summarised, (toolName) => host.effectOf(toolName), policy.facts)) as unknown as readonly Fact[]
  return mergeFacts(view.compaction?.facts ?? [], found)
}

function focusOf(...texts: readonly (string | undefined)[]): readonly string[] {
  return texts.filter((text) => text !== undefined && text.trim() !== '') as readonly string[]
}
