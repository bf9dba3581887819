import { hashJson, type SubmissionReceipt } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'
import { SessionError, type SessionErrorCode } from '../errors.ts'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { InboxRecord, SessionRecord, ToolCallRecord } from '../contract/records.ts'
import type { SessionContext } from './context.ts'
import { checkAgrees, type GivenAnswer, type GivenResolution } from './given-answers.ts'
import { readSession, storeAnswers, waitedForRelease } from './inbox.ts'
import { readRun } from './rest-watch.ts'
import { agentsBelow, answeredAbove, sessionBelow } from './route.ts'
import type { SubmitOptions } from './types.ts'
import { answerId, isAllAnswered, openQuestions, readAnswers, type OpenQuestions } from '../contract/answers.ts'
import { isTerminal } from '../contract/run-status.ts'

const nothingOpen: OpenQuestions = { pendingToolCalls: [], pendingApprovals: [] }

/** Answer to a call in the inbox: in the form of the loop, and with the hash that reveals repeats. */
interface Answer {
  readonly toolCallId: string
  readonly body: JSONObject
  readonly hash: string
  /** As submitted, once or several times. */
  readonly given: readonly GivenAnswer[]
}

type Verdict =
  /** `later`: only once no process executes the run, because that may settle the call itself. */
  | { readonly kind: 'accepted'; readonly runId: string; readonly later: boolean }
  | { readonly kind: 'repeated'; readonly runId: string }
  | { readonly kind: 'refused'; readonly code: SessionErrorCode }

/**
 * Checks all answers against the stored state, then stores them in one commit. The last open answer queues the run in the same
 * commit.
 */
export async function submitAnswers(
  context: SessionContext,
  key: string,
  given: readonly GivenAnswer[],
  { unknownOutcomes = true }: SubmitOptions = {},
): Promise<SubmissionReceipt & { readonly runId: string }> {
  const answers = toAnswers(given)
  const target = await targetOf(context, key, given)
  const asked = { agents: agentsBelow(key, target), unknownOutcomes }
  return retryOnConflict(
    async () => {
      const session = await readSession(context, target)
      const inbox = await readAnswers(context.store, target)
      const verdicts = new Map<string, Verdict>()
      for (const answer of answers) {
        verdicts.set(answer.toolCallId, await judge(context, session, inbox, answer, asked))
      }
      refuseAny(verdicts)
      const runId = runOf(verdicts)
      const run = await readRun(context.store, runId)
      const fresh = answers.filter((answer) => verdicts.get(answer.toolCallId)?.kind === 'accepted')
      if ([...verdicts.values()].some((verdict) => verdict.kind === 'accepted' && verdict.later) && (await waitedForRelease(context, run)))
        return tryAgain
      const rows = fresh.map((answer) => inboxRow(context, runId, answer))
      const open = isTerminal(run.status) ? nothingOpen : openQuestions(run, [...inbox, ...rows])
      const above = await answeredAbove(context, run, fresh)
      if (rows.length === 0 || (await storeAnswers(context, session, run, rows, isAllAnswered(open), above))) {
        return {
          runId,
          accepted: fresh.map((answer) => answer.toolCallId),
          repeated: answers.filter((answer) => !fresh.includes(answer)).map((answer) => answer.toolCallId),
          missing: open.pendingToolCalls.map((call) => call.toolCallId),
        }
      }
      return tryAgain
    },
    (tries) => `The session changed ${tries} times while the results were stored.`,
  )
}

/** Sets the outcome of a call whose outcome is unknown. */
export async function resolveCall(context: SessionContext, key: string, toolCallId: string, given: GivenResolution): Promise<string> {
  if ('result' in given) return (await submitAnswers(context, key, [given])).runId
  return runAgain(context, key, toolCallId, given)
}

/** Resets the call to `pending`, so that it starts again under the same idempotency key. */
async function runAgain(
  context: SessionContext,
  root: string,
  toolCallId: string,
  given: Extract<GivenResolution, { runAgain: true }>,
): Promise<string> {
  const key = await sessionBelow(context.store, root, given.path)
  const agents = agentsBelow(root, key)
  return retryOnConflict(
    async () => {
      const session = await readSession(context, key)
      const call = await readCall(context, key, toolCallId)
      const run = await readRun(context.store, call.runId)
      const waiting = run.pendingToolCalls.find((pending) => pending.toolCallId === toolCallId)
      checkAgrees(given, { call, pending: waiting, agents })
      if (call.state === 'pending') return run.id
      if (!waiting?.unknown) {
        throw new SessionError('tool-result-conflict', `The call ${toolCallId} already has an outcome, which stays.`)
      }
      const pendingToolCalls = run.pendingToolCalls.filter((pending) => pending.toolCallId !== toolCallId)
      const inbox = await readAnswers(context.store, key)
      if (inbox.some((row) => row.id === answerId(run.id, toolCallId))) {
        throw new SessionError('tool-result-conflict', `The call ${toolCallId} already has a different answer, which stays.`)
      }
      if (await waitedForRelease(context, run)) return tryAgain
      const last = isAllAnswered(openQuestions({ ...run, pendingToolCalls }, inbox))
      const { outcome: _outcome, ...open } = call
      const result = await context.store.commit({
        id: context.ids.next('batch'),
        key,
        expect: [
          { that: 'session', id: session.id, version: session.version },
          { that: 'run', runId: run.id, status: ['needs-recovery'] },
        ],
        writes: [
          { op: 'call.put', calls: [{ ...open, state: 'pending' }] },
          { op: 'run.patch', runId: run.id, patch: { pendingToolCalls, ...(last ? { status: 'queued' } : {}) } },
        ],
      })
      if (!result.ok) return tryAgain
      if (last) context.wake(key)
      return run.id
    },
    (tries) => `The session changed ${tries} times while the call was resolved.`,
  )
}

/** Returns the session of the answers. Throws if they belong to several. */
async function targetOf({ store }: SessionContext, key: string, answers: readonly GivenAnswer[]): Promise<string> {
  const targets = new Set<string>()
  for (const { result } of answers) targets.add(await sessionBelow(store, key, result.path ?? []))
  const [target = key, other] = targets
  if (other === undefined) return target
  throw new SessionError('invalid-input', 'The results are for different subagents. Submit the results of each subagent separately.')
}

/** Merges equal answers to one call. Throws if they differ. */
function toAnswers(given: readonly GivenAnswer[]): readonly Answer[] {
  const answers = new Map<string, Answer>()
  for (const each of given) {
    const answer = toAnswer(each)
    const other = answers.get(answer.toolCallId)
    if (other && other.hash !== answer.hash) throw refusal([[answer.toolCallId, 'tool-result-conflict']])
    answers.set(answer.toolCallId, { ...answer, given: [...(other?.given ?? []), ...answer.given] })
  }
  return [...answers.values()]
}

function toAnswer(given: GivenAnswer): Answer {
  const { path: _path, ...content } = given.result
  const { toolCallId } = content
  // `error` is short for an output with `isError`.
  const canonical = 'error' in content ? { toolCallId, output: content.error, isError: true } : content
  return { toolCallId, body: content as unknown as JSONObject, hash: hashJson(canonical as unknown as JSONObject), given: [given] }
}

async function judge(
  context: SessionContext,
  session: SessionRecord,
  inbox: readonly InboxRecord[],
  answer: Answer,
  { agents, unknownOutcomes }: { readonly agents: readonly string[]; readonly unknownOutcomes: boolean },
): Promise<Verdict> {
  const read = await context.store.readCall(session.key, answer.toolCallId)
  if (read.status === 'missing') return { kind: 'refused', code: 'unknown-tool-call' }
  const call = read.value
  const found = await context.store.readRun(call.runId)
  const run = found.status === 'found' ? found.value : undefined
  const pending = run?.pendingToolCalls.find((each) => each.toolCallId === call.toolCallId && each.path.length === 0)
  for (const each of answer.given) checkAgrees(each, { call, pending, agents })
  const waiting = inbox.find((row) => row.id === answerId(call.runId, call.toolCallId))
  const given = waiting?.kind === 'answer' ? waiting.body.hash : call.answerHash
  if (given !== undefined) {
    return given === answer.hash ? { kind: 'repeated', runId: call.runId } : { kind: 'refused', code: 'tool-result-conflict' }
  }
  if (call.state === 'settled') return { kind: 'refused', code: 'tool-result-conflict' }
  const isRemote = call.state === 'remote'
  // The run is being stopped: its call will be cancelled.
  if (run?.stop && (pending || isRemote)) return { kind: 'refused', code: 'tool-result-conflict' }
  // A call that the runtime executes takes no answer. Only a call with an unknown outcome can be set to `unknown`.
  if (!run || !(pending || isRemote) || isTerminal(run.status)) return { kind: 'refused', code: 'unknown-tool-call' }
  if (pending?.unknown && !unknownOutcomes) return { kind: 'refused', code: 'unknown-tool-call' }
  if ('unknown' in answer.body && !pending?.unknown) return { kind: 'refused', code: 'tool-result-conflict' }
  return { kind: 'accepted', runId: call.runId, later: !isRemote }
}

function refuseAny(verdicts: ReadonlyMap<string, Verdict>): void {
  const refused = [...verdicts].flatMap(([id, verdict]): [string, SessionErrorCode][] =>
    verdict.kind === 'refused' ? [[id, verdict.code]] : [],
  )
  if (refused.length > 0) throw refusal(refused)
}

function refusal(refused: readonly (readonly [string, SessionErrorCode])[]): SessionError {
  const [first] = refused
  const ids = refused.map(([id]) => id).join(', ')
  const code = first?.[1] ?? 'unknown-tool-call'
  const text =
    code === 'unknown-tool-call'
      ? `No pending call for these results: ${ids}. Take the ids from pendingToolCalls.`
      : `These calls already have different results, which stay: ${ids}.`
  return new SessionError(code, text, { refused: refused.map(([id, each]) => ({ id, code: each })) })
}

/** Returns the run that a submission answers. One that accepts an answer precedes those with repeats only. */
function runOf(verdicts: ReadonlyMap<string, Verdict>): string {
  const all = [...verdicts.values()].flatMap((verdict) => (verdict.kind === 'refused' ? [] : [verdict]))
  const chosen = all.find((verdict) => verdict.kind === 'accepted') ?? all.at(-1)
  if (!chosen) throw new SessionError('invalid-input', 'A submission must have at least one result.')
  return chosen.runId
}

function inboxRow(context: SessionContext, runId: string, { toolCallId, body, hash }: Answer): InboxRecord {
  return { id: answerId(runId, toolCallId), kind: 'answer', at: context.clock.now(), body: { toolCallId, hash, answer: body } }
}

async function readCall(context: SessionContext, key: string, toolCallId: string): Promise<ToolCallRecord> {
  const read = await context.store.readCall(key, toolCallId)
  if (read.status === 'missing') throw refusal([[toolCallId, 'unknown-tool-call']])
  return read.value
}
