import {
  AgentError,
  type AbortCause,
  type Accepted,
  type Agent,
  type AgentInput,
  type AgentResult,
  type AgentRun,
  type ApprovalDecision,
  type IdSource,
  type RunOptions,
  type SessionActions,
  type SubmittedResult,
  type TurnStatus,
} from '@bowline/agent-loop'
import { mergeRuntimeParams, type Clock } from '@bowline/llm'
import { backgroundTools } from '../children/background-tools.ts'
import type { ChildContext } from '../children/child-context.ts'
import { childHost } from '../children/child-host.ts'
import { acceptFollowUp } from '../commands/accept.ts'
import { letOrphanedInputsPass } from '../commands/orphaned-inputs.ts'
import type { ExpectedDrivers, RunDriver } from '../commands/run-driver.ts'
import { settingsOf } from '../commands/settings.ts'
import { originOf } from '../contract/origin.ts'
import type { InboxRecord, RunRecord } from '../contract/records.ts'
import { asLogged, isTerminal } from '../contract/run-status.ts'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import { SessionError } from '../errors.ts'
import type { LiveLog } from '../log/live-log.ts'
import { DeltaSharer } from '../log/share-deltas.ts'
import { StoreJournal } from '../writer/store-journal.ts'
import type { AgentDirectory } from './agent-directory.ts'
import { checkDefinition, type DefinitionCheck } from './check-definition.ts'
import type { Conversations } from '../writer/conversations.ts'
import { executeCompaction } from './execute-compaction.ts'
import { answersOf } from './recover.ts'
import { notWritten, type Remainder, type RunSignals } from './remainder.ts'
import type { TenantBudgets } from './tenant-budgets.ts'
import type { ErrorContext, RuntimeOptions } from './types.ts'

export interface ExecutionOptions extends Pick<
  RuntimeOptions,
  'attempts' | 'durability' | 'onUnknownOutcome' | 'onFailedTurn' | 'onDefinitionChange'
> {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
  readonly directory: AgentDirectory
  readonly childrenOn: (store: SessionStore) => ChildContext
  readonly drivers: ExpectedDrivers
  readonly conversations: Conversations
  /** Undefined: no tenant budget applies. */
  readonly tenants?: TenantBudgets | undefined
  /** Returns the actions that extensions of a run may take after it. */
  readonly actionsBehind: (claim: Claim) => SessionActions
  /** Must not throw. */
  readonly onError: (error: unknown, where: ErrorContext) => void
}

/** Outcomes of turns that no stop has ended. */
const endsByItself: ReadonlySet<TurnStatus> = new Set(['completed', 'halted', 'limit'])
const stopped: Remainder = { kind: 'end', status: 'aborted', reason: 'abort' }

/** Executes a claimed run as far as this process can. */
export async function executeRun(options: ExecutionOptions, claim: Claim, signals: RunSignals): Promise<Remainder> {
  const { abort } = signals
  const { store, directory, onDefinitionChange = 'continue' } = options
  const { run, session } = claim
  if (run.rest) return { kind: 'finalize' }
  const isStopped = run.stop !== undefined || (await isStoppedAbove(store, run))
  if (isStopped && run.turn === undefined) return stopped
  if (run.turn === undefined && run.kind !== 'compaction' && (await letOrphanedInputsPass(options, claim))) return { kind: 'nothing' }
  const agent = directory.agentOf(session, run)
  const lost = lostTooOften(options, run)
  if (!agent || lost) return lost ?? { kind: 'end', status: 'error', reason: 'refused', error: unknownAgent }
  if (run.kind === 'compaction') return executeCompaction(options, claim, agent, signals)
  if (isStopped) abort.abort({ kind: 'stop' })
  const check = await checkDefinition(store, agent, run, isStopped ? 'continue' : onDefinitionChange)
  if (check.kind === 'refuse') return { kind: 'refuse', diff: check.diff }
  return runAgent(options, { agent, claim, signals, check, answers: run.turn === undefined ? [] : answersOf(run, claim.inbox) })
}
/** Returns what remains of a run whose execution threw: its stored input cannot be used, or the store has a fault. */
export function failureOf(error: unknown): Remainder {
  const isOfCaller = (AgentError.isInstance(error) || SessionError.isInstance(error)) && error.code.startsWith('invalid-')
  if (!isOfCaller) return { kind: 'end', status: 'error', reason: 'journal-error', error: notWritten }
  const code = error.code === 'invalid-config' ? error.code : 'invalid-input'
  return { kind: 'end', status: 'error', reason: 'refused', error: { code, message: error.message } }
}

const unknownAgent = {
  code: 'definition-changed',
  message: 'This runtime no longer has the agent of the run. Add it to agents again.',
} as const

interface Execution {
  readonly agent: Agent
  readonly claim: Claim
  readonly signals: RunSignals
  readonly check: Exclude<DefinitionCheck, { kind: 'refuse' }>
  readonly answers: readonly InboxRecord[]
}

async function runAgent(options: ExecutionOptions, execution: Execution): Promise<Remainder> {
  const { store, live, ids, childrenOn, drivers, conversations, durability = 'boundary' } = options
  const { agent, claim, check, answers } = execution
  const { abort, over, onLastCommit, beforeStep } = execution.signals
  const children = childrenOn(store)
  const { run, session } = claim
  const expected = drivers.take(run.id)
  const driver = run.turn === undefined ? expected : undefined
  const enqueue = (input: AgentInput): Promise<Accepted> => acceptFollowUp(options, session, run, input)
  const journal = new StoreJournal({
    store,
    live,
    ids,
    claim,
    answers,
    abort,
    onLastCommit,
    beforeStep,
    enqueue,
    sharer: sharerOf(options, claim),
    durability: driver ? 'boundary' : durability,
    isDriven: driver !== undefined,
    conversation: conversations.of(session.id),
    hostChildren: (spawn) => childHost({ context: children, session, run, spawn, tools: backgroundTools(children, session.key) }),
    ...(check.kind === 'new' ? { definition: check.definition } : {}),
    ...('diff' in check ? { definitionDiff: check.diff } : {}),
  })
  const budget = await options.tenants?.budgetFor(session)
  const mode = driver ? ({ mode: 'synchronized', driverTimeoutMs: driver.timeoutMs } as const) : {}
  const agentRun = agent.run(inputOf(claim, answers), { ...optionsOf(options, claim, check), ...mode, ...(budget && { budget }), journal })
  const driving = driver && drive(agentRun, driver)
  const result = await agentRun.result()
  driver?.leave()
  await driving
  // Stops background runs too: the process that stored the stop request may not have reached them.
  if (isStop(abort.signal) && !endsByItself.has(result.status)) await children.stopBelow(run)
  return remainderOf(result, journal, over)
}

/** Undefined if the store does not carry deltas to other processes. */
function sharerOf({ store, clock, onError }: ExecutionOptions, claim: Claim): DeltaSharer | undefined {
  const { id: runId, session } = claim.run
  return store.deltas && new DeltaSharer(store.deltas, clock, claim, (error) => onError(error, { during: 'deltas', runId, session }))
}

/** Iterates over the run at the speed of the driver. The loop waits for this consumer, while the driver itself reads the log. */
async function drive(run: AgentRun, driver: RunDriver): Promise<void> {
  for await (const { seq } of run) if (seq !== undefined && !(await driver.asksBehind(seq))) return
}

function optionsOf(
  { clock, ids, onUnknownOutcome, onFailedTurn, actionsBehind }: ExecutionOptions,
  claim: Claim,
  check: DefinitionCheck,
): RunOptions {
  const { run, session } = claim
  const { runtimeParams, channel, remoteTools } = settingsOf('the settings of the session', session.settings)
  return {
    runId: run.id,
    sessionKey: session.key,
    context: session.metadata,
    clock,
    ids,
    source: run.kind,
    runtimeParams: mergeRuntimeParams(runtimeParams, run.options?.runtimeParams),
    ...(originOf(run) ? {} : { session: actionsBehind(claim) }),
    ...(run.options?.output && { output: run.options.output }),
    ...(channel === undefined ? {} : { channel }),
    ...(remoteTools ? { remoteTools } : {}),
    ...(check.kind === 'pin' ? { pinned: check.pinned } : {}),
    ...(onUnknownOutcome ? { onUnknownOutcome } : {}),
    ...(onFailedTurn ? { onFailedTurn } : {}),
  }
}

/** The loop ends every turn itself, unless it could not write, lost its lease, or had nothing to run. */
function remainderOf({ reason, error }: AgentResult, journal: StoreJournal, over: AbortSignal): Remainder {
  if (journal.needsFinalize) return { kind: 'finalize' }
  if (error?.code === 'fenced' || (reason === 'journal-error' && over.aborted)) return { kind: 'lost' }
  if (reason === 'yielded') return { kind: 'give-back' }
  // Another run has taken the notification that this run was for.
  if (reason === 'refused' && error?.code === 'nothing-to-run') return stopped
  if (reason !== 'journal-error' && reason !== 'refused') return { kind: journal.hasSettled ? 'settled' : 'nothing' }
  return { kind: 'end', status: 'error', reason, error: error ?? notWritten }
}

function lostTooOften({ attempts }: ExecutionOptions, run: RunRecord): Remainder | undefined {
  if (run.attempts <= (attempts?.withoutProgress ?? 5) && run.totalAttempts <= (attempts?.total ?? 25)) return undefined
  const message = `The process of the run was lost ${run.totalAttempts} times, ${run.attempts} of them without progress.`
  return { kind: 'end', status: 'error', reason: 'crash-loop', error: { code: 'crash-loop', message } }
}

function isStop({ aborted, reason }: AbortSignal): boolean {
  return aborted && (reason as AbortCause).kind === 'stop'
}

/** Returns true if a run above is being stopped or was stopped: its children in the foreground must not continue. */
async function isStoppedAbove(store: SessionStore, run: RunRecord): Promise<boolean> {
  for (let above = originOf(run); above;) {
    const read = await store.readRun(above.runId)
    if (read.status === 'missing') return true
    const { status, stop } = asLogged(read.value)
    if (status === 'aborted' || (stop !== undefined && !isTerminal(status))) return true
    above = originOf(read.value)
  }
  return false
}

/** Returns the input for a run that has not begun. Returns the answers and decisions that arrived for one that continues. */
function inputOf({ run }: Claim, answers: readonly InboxRecord[]): AgentInput | undefined {
  if (run.turn === undefined) return run.kind === 'notification' ? undefined : (run.input as unknown as AgentInput)
  if (answers.length === 0 || run.stop) return undefined
  return {
    toolResults: answers.flatMap((row) => (row.kind === 'answer' ? (row.body.answer as unknown as SubmittedResult) : [])),
    approvals: answers.flatMap((row): ApprovalDecision[] => (row.kind === 'decision' ? [row.body] : [])),
  }
}
