import type { SubmittedResult } from '@bowline/agent-loop'
import { isEnded } from '@bowline/agent-loop/events'
import type { LoggedEvent, RunInfo, Session, SessionInfo } from '@bowline/sessions'
import { allows, type Principal } from '../auth/principal.ts'
import { checkOutput } from '../execute/check-parts.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import type { ChatTurn } from './admit-chat.ts'
import { numberOf } from '../session-log.ts'
import type { AnsweredCall, Answers, Decision } from './chat-request.ts'

/** Accepts those answers of a message that the open run waits for. If there are none, resumes the stream of the turn. */
export async function admitAnswers(services: Services, principal: Principal, session: Session, message: Answers): Promise<ChatTurn> {
  const info = await session.info()
  if (!info) throw new ProblemError('session-missing', 'There is no session with this id.')
  const { openRun } = info
  const results = message.results.filter((result) => openRun && waitsFor(openRun, result))
  const decisions = message.decisions.filter((decision) => openRun && asksFor(openRun, decision))
  if (!openRun || results.length + decisions.length === 0) return goOn(services, session, info, message.id)
  if (decisions.length > 0 && !allows(principal, 'approvals')) {
    throw new ProblemError('scope-missing', 'The scope approvals is needed to decide about a call.')
  }
  for (const result of results) if ('output' in result) checkOutput(result.output)
  if (results.length > 0) await session.submitToolResults(results as readonly SubmittedResult[], { unknownOutcomes: false })
  for (const { approvalId, approved, reason } of decisions) {
    const decision = { by: principal.id, ...(reason !== undefined && { reason }) }
    await (approved ? session.approve(approvalId, decision) : session.deny(approvalId, decision))
  }
  const { runId, cursor } = openRun
  return { session, runId, cursor, knownUntil: numberOf(info.cursor), ...(decisions.length > 0 && { hasDecided: true }) }
}

/** Returns true if the run waits for the result. Calls of subagents, and calls whose outcome is unknown, are answered
elsewhere. */
function waitsFor({ pendingToolCalls }: RunInfo, { toolCallId }: AnsweredCall): boolean {
  return pendingToolCalls.some((call) => call.toolCallId === toolCallId && call.path.length === 0 && !call.unknown)
}

function asksFor({ pendingApprovals }: RunInfo, { approvalId }: Decision): boolean {
  return pendingApprovals.some((request) => request.approvalId === approvalId)
}

/** Resumes the stream if the answers are repeated, or if some are still missing. */
async function goOn({ runtime }: Services, session: Session, info: SessionInfo, messageId: string): Promise<ChatTurn> {
  const run = await runtime.run(messageId)
  const place = run?.session === session.key ? await standOf(session, run, info) : undefined
  if (!run || place === undefined) {
    throw new ProblemError('unknown-tool-call', 'The last message has no answer to a pending call or question of this conversation.')
  }
  return { session, runId: run.runId, cursor: run.cursor, knownUntil: numberOf(place) }
}

/** Returns the position after which the page should read. Returns undefined if the turn has ended and no answer resumed it. */
async function standOf(session: Session, run: RunInfo, info: SessionInfo): Promise<string | undefined> {
  let before = run.cursor
  let segment: { readonly start: string; readonly isMoved: boolean; isOver: boolean } | undefined
  for await (const event of session.events({ cursor: run.cursor, live: false })) {
    if (isOf(event, run, 'turn-start')) segment = { start: before, isMoved: event.resumed, isOver: false }
    if (isOf(event, run, 'turn-end') && segment) segment.isOver = true
    before = event.cursor
  }
  if (isEnded(run.status)) return segment?.isMoved ? segment.start : undefined
  return segment && !segment.isOver ? segment.start : info.cursor
}

function isOf<Type extends 'turn-start' | 'turn-end'>(
  event: LoggedEvent,
  { runId }: RunInfo,
  type: Type,
): event is Extract<LoggedEvent, { type: Type }> {
  return event.type === type && event.runId === runId
}
