import type fc from 'fast-check'
import type { AnswerPlan, CallPlan } from '../fuzz/answers.ts'
import { calmRound } from '../fuzz/scenarios.ts'
import type { FunctionPlan } from '../fuzz/functions.ts'
import type { AgentPlan, JournalPlan, RoundPlan, Scenario } from '../fuzz/scenarios.ts'
import type { base } from './draw-script.ts'
import type { Extras, Script } from './script.ts'
import type { themes } from './themes.ts'

type Drawn<Source> = Source extends fc.Arbitrary<infer Value> ? Value : never
type Base = Drawn<typeof base>
type Themes = Drawn<typeof themes>

/** Puts a script together from what was drawn. */
export function scriptOf(drawn: { readonly base: Base; readonly themes: Themes; readonly extras: Extras }): Script {
  const { base } = drawn
  const themes = fitting(drawn.themes)
  const agent = agentOf(base, themes)
  const scenario: Scenario = { agent, journal: journalOf(themes), rounds: roundsOf(base, themes), maxTotalTokens: themes.maxTotalTokens }
  return { scenario, extras: extrasOf(drawn.extras, themes), deaths: [] }
}

/** Leaves out themes that others make pointless, and adds what they need. */
function fitting(themes: Themes): Themes {
  const { ends, compaction, fallback, limits, functions } = themes
  // Nothing is handed on unless the first call does it.
  const nested = themes.nested ?? (limits?.maxDepth === undefined ? undefined : { tools: ['pure'] as const, end: 'stop' as const })
  const needsModel = ends !== undefined || compaction !== undefined || fallback !== undefined || limits?.maxCost !== undefined
  return { ...themes, nested, ends: ends ?? fallback?.ends, functions: needsModel ? undefined : functions }
}

function extrasOf(extras: Extras, { limits, pinned, fallback, functions, journal }: Themes): Extras {
  const { maxCost, maxQueuedInputs } = limits ?? {}
  // Only of the first model the price is known, and of no function.
  const isPriced = maxCost !== undefined && fallback === undefined && !functions
  return {
    ...{ ...extras, maxQueuedInputs, pinned: pinned ?? 'none', lateInput: journal?.late === true },
    ...(isPriced && { price: true, maxCost }),
    // What a model function gives at once ends at once.
    timed: extras.timed && !functions,
  }
}

function agentOf(base: Base, themes: Themes): AgentPlan {
  const { asked, compaction, limits, repeats, functions, fallback } = themes
  const { onUnknownOutcome, steering, abortGraceMs, toolConcurrency } = base
  const { maxCost: _cost, maxQueuedInputs: _inputs, ...own } = limits ?? {}
  return {
    ...{ onUnknownOutcome, steering, abortGraceMs, toolConcurrency, ...themes.retries },
    answers: answersOf(base, themes),
    child: themes.nested ? [{ ...summary, calls: themes.nested.tools.map((tool) => ({ ...aCall, tool })) }, { ...summary, end: themes.nested.end }] : base.child,
    summaries: compaction?.summary === undefined ? [] : [{ ...summary, end: compaction.summary }],
    functions: functions && { main: changed(functions.main.map(calmed), changedCalls(themes)), child: functions.child.map(calmed) },
    fallback: fallback && (fallback.answers ? base.fallback : []),
    ...{ extensions: extensionsOf(themes), guardrail: themes.guardrail },
    ...{ prepareStep: 'none', stopWhen: 'none', ephemeral: 'none', instructions: 'text', ...asked },
    compacts: compaction !== undefined,
    limits: { maxSteps: repeats ? 12 : 6, ...own },
  }
}

function extensionsOf({ extensions: given = [], ends, compaction, watches }: Themes): AgentPlan['extensions'] {
  // Two extensions that write an event at each event would never end.
  const extensions = given.map((extension) => ({ ...extension, hooks: extension.hooks.map((plan) => (plan.hook === 'onEvent' && plan.act === 'note' ? { ...plan, act: 'look' as const } : plan)) }))
  if (!watches || (!ends && !compaction)) return extensions
  const look = { act: 'look', every: 1 } as const
  const hooks = [{ hook: 'beforeCompaction', act: watches, every: 1 }, ...(['afterCompaction', 'onRetryStart', 'onRetryEnd'] as const).map((hook) => ({ hook, ...look }))] as const
  return [...extensions, { onError: undefined, deltas: false, hooks }]
}

const summary: AnswerPlan = { reasoning: false, text: 'a summary', calls: [], end: 'stop', delayMs: 0, chunk: 20, tokens: 10 }
const aCall: CallPlan = { tool: 'pure', act: 'return', ms: 0, id: undefined, input: 'right' }

function answersOf({ answers: given, calls }: Base, themes: Themes): readonly AnswerPlan[] {
  const { repeats, ends = [], compaction } = themes
  if (repeats) return Array.from({ length: repeats.times }, () => ({ ...summary, text: '', calls: [{ ...aCall, act: repeats.act }] }))
  const changes = changedCalls(themes)
  const answers = Array.from({ length: Math.max(given.length, ends.length, compaction?.overflows ? 3 : 0) }, (_, place) => given[place] ?? summary)
  // Only what pure tools did can be taken back.
  const isRewound = ends.length > 1 && (themes.retries.rewind === 'turn' || themes.retries.onFailedTurn === 'rewind')
  let place = 0
  return answers.map((answer, index) => {
    const isCalling = calls || changes.length > 0 || ends[index] === 'length' || (ends[index] === 'stop' && index === 0)
    if (ends[index] === 'paused') return { ...answer, calls: [], end: 'paused' }
    const needed = index === 0 ? Math.min(3, Math.max(changes.length, isCalling ? 1 : 0)) : (isCalling && index < ends.length) || (compaction?.overflows && index === 1) ? 1 : 0
    const own = [...answer.calls, ...Array.from({ length: needed - Math.min(needed, answer.calls.length) }, () => aCall)]
    return { ...answer, calls: own.map((call) => ({ ...call, ...(isRewound && { tool: 'pure' as const }), ...changes[place++] })), ...(ends[index] && { end: ends[index] }), ...largeAt(compaction, index) }
  })
}

/** What the first calls of a script are changed to. */
function changedCalls({ acts = [], sideWork = [], inputs = [], compaction, death, host, nested }: Themes): readonly (Partial<CallPlan> | undefined)[] {
  return [
    ...(death ? [{ tool: death.tool, ms: 0 }] : []),
    ...(host?.acts ?? []).map((act) => ({ tool: 'delegate_to_helper' as const, act })),
    ...(nested ? [{ tool: 'delegate_to_helper' as const }] : []),
    ...acts.map((act) => ({ act })),
    ...sideWork.map((act) => ({ tool: 'pure' as const, act })),
    ...inputs.map((input) => (input === 'nobody' ? { tool: input } : input === 'twice' ? { id: 0 } : { input })),
    ...(compaction?.asks ? [{ act: 'compact' as const, tool: 'safe' as const }] : []),
  ]
}

function largeAt(compaction: Themes['compaction'], index: number): Partial<AnswerPlan> {
  if (!compaction) return {}
  if (compaction.overflows) return index === 2 ? { end: 'too-long' } : { text: 'some more text '.repeat(index === 0 ? 60 : 1), tokens: 900 }
  return index === compaction.at ? { tokens: compaction.tokens } : {}
}

/** Two children that a tool spawns at once would take turns by chance, and so would two subagents whose model is a function. */
function calmed(plan: FunctionPlan): FunctionPlan {
  const isGood = ['answer', 'ahead', 'stream', 'own-stream'].includes(plan.act)
  const [first, ...others] = plan.answers
  return { ...plan, answers: [calmAnswer(first, isGood), ...others.map((answer) => calmAnswer(answer, isGood))] }
}

function calmAnswer(answer: AnswerPlan, isGood: boolean): AnswerPlan {
  const delegate = answer.calls.findIndex(({ tool }) => tool === 'delegate_to_helper')
  const calls = answer.calls.filter(({ tool }, place) => tool !== 'delegate_to_helper' || place === delegate)
  const end = isGood ? 'stop' : answer.end
  return { ...answer, end, calls: calls.slice(0, 3).map((call) => (call.act === 'spawn-two' ? { ...call, act: 'spawn' } : call)) }
}

/** Puts the changes into the calls of the first answer. */
function changed(plans: readonly FunctionPlan[], changes: ReturnType<typeof changedCalls>): readonly FunctionPlan[] {
  const [first, ...rest] = plans
  if (!first || changes.length === 0) return plans
  const [answer, ...others] = first.answers
  const calls = changes.slice(0, 3).map((change, place) => ({ ...(answer.calls[place] ?? aCall), ...change }))
  return [calmed({ ...first, answers: [{ ...answer, calls }, ...others] }), ...rest]
}

function journalOf({ journal, host, compaction }: Themes): JournalPlan {
  const { followsUp: _input, late: _late, ...given } = journal ?? {}
  return { latencyMs: 0, inputs: [], enqueues: false, schedulesCompaction: compaction?.schedules === true, ...given, host: host?.plan }
}

function givenBy(journal: Themes['journal'], limits: Themes['limits']): RoundPlan['disturbances'] {
  return [...(journal?.followsUp ? [{ kind: 'follow-up', after: 3 } as const] : []), ...(limits?.maxQueuedInputs === undefined ? [] : [{ kind: 'steer', after: 2 } as const])]
}

function roundsOf({ rounds, approve, edits, startsAborted }: Base, { orders = [], disturbances = [], journal, limits, death, driver, onApproval, compaction }: Themes): readonly RoundPlan[] {
  const first: RoundPlan = {
    ...{ ...calmRound, answer: 'all', approve, edits, startsAborted, death, onApproval, disturbances: [...disturbances, ...givenBy(journal, limits)] },
    ...(driver && { mode: 'synchronized', driver }),
  }
  const calm: RoundPlan = { ...calmRound, answer: 'all', approve, edits, compacts: compaction?.byHand === true }
  const others = orders.map((answer): RoundPlan => ({ ...calm, answer }))
  return [first, ...others, ...Array.from({ length: orders.length > 0 || rounds === 1 ? 0 : 1 }, () => calm), ...(compaction?.byHand ? [calm] : [])]
}
