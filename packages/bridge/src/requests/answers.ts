import { canonicalJson } from '@bowline/agent-loop'
import type { Answer, PendingInput } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import { namesOf } from '../missing-agent.ts'
import type { RequestRecord } from './request-record.ts'

export interface CheckedAnswers {
  /** Answers that were not given before. */
  readonly fresh: readonly Answer[]
  /** Questions before these answers. */
  readonly pending: readonly PendingInput[]
  /** Questions that stay open. */
  readonly remaining: readonly PendingInput[]
  readonly answered: Readonly<Record<string, Answer>>
}

/** Checks all answers before any is passed on. Throws `NOT_FOUND` or `PROTOCOL` with the ids of the wrong ones. */
export function checkAnswers(record: RequestRecord, answers: readonly Answer[]): CheckedAnswers {
  const answered = record.answered ?? {}
  const pending = new Map((record.outcome?.pending ?? record.asked ?? []).map((input) => [input.id, input]))
  const refuseSome = (code: 'NOT_FOUND' | 'PROTOCOL', message: string, refused: readonly Answer[]): void => {
    if (refused.length === 0) return
    const { requestId, sessionId, agentId } = record
    const issues = refused.map((answer) => ({ path: `answers[${answers.indexOf(answer)}]`, id: answer.id, message }))
    throw new BridgeError(code, `${message} ${refused.map(({ id }) => id).join(', ')}`, {
      details: { requestId, sessionId, agentId, issues },
    })
  }
  const fresh = answers.filter(({ id }) => !Object.hasOwn(answered, id))
  const open = [...pending.keys()].filter((id) => !Object.hasOwn(answered, id))
  refuseSome(
    'NOT_FOUND',
    `${open.length > 0 ? `Pending: ${namesOf(open)}` : 'Nothing is pending'}; not pending:`,
    fresh.filter(({ id }) => !pending.has(id)),
  )
  const others = answers.filter((answer) => Object.hasOwn(answered, answer.id) && !isSame(answered[answer.id], answer))
  refuseSome('PROTOCOL', 'Already answered differently:', others)
  refuseSome('PROTOCOL', 'Answered twice in one call:', repeated(fresh))
  refuseSome(
    'PROTOCOL',
    'An approval needs a decision, a tool needs an output or error:',
    fresh.filter((answer) => !fits(answer, pending.get(answer.id))),
  )
  const given = new Set(fresh.map(({ id }) => id))
  return {
    fresh,
    pending: [...pending.values()],
    remaining: [...pending.values()].filter(({ id }) => !given.has(id)),
    answered: { ...answered, ...Object.fromEntries(fresh.map((answer) => [answer.id, answer])) },
  }
}

/** Removes and returns the known answers to these questions. A question that is asked once more needs a new answer. */
export function takeKnown(answers: Map<string, Answer>, pending: readonly PendingInput[]): readonly Answer[] {
  return pending.flatMap(({ id }) => {
    const known = answers.get(id)
    answers.delete(id)
    return known ? [known] : []
  })
}

function repeated(answers: readonly Answer[]): readonly Answer[] {
  const seen = new Set<string>()
  return answers.filter(({ id }) => seen.has(id) || !seen.add(id))
}

function fits(answer: Answer, pending: PendingInput | undefined): boolean {
  return 'decision' in answer === (pending?.kind === 'approval')
}

function isSame(left: Answer | undefined, right: Answer): boolean {
  return left !== undefined && canonicalJson(left) === canonicalJson(right)
}
