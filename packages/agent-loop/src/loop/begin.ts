import type { AssistantMessage, Usage } from '@bowline/llm'
import type { Order } from '../agent/input.ts'
import type { OpenTurn, StoredMessage } from '../journal/journal.ts'
import { callOf } from '../tools/call.ts'
import type { Call } from '../tools/call.ts'
import { finalize } from '../tools/finalize.ts'
import { clientCalls } from '../transcript/client-calls.ts'
import type { Submission } from './submission.ts'
import type { Turn } from './turn.ts'

/** Drafts the input of a new turn. */
export function beginTurn(turn: Turn, { message }: Extract<Order, { kind: 'message' }>): void {
  const id = message.id ?? turn.ids.next('msg')
  const stored: StoredMessage & { role: 'user' } = { ...message, id, at: message.at ?? turn.clock.now() }
  turn.record({ type: 'user-message', messageId: id, message: stored, source: turn.source })
  turn.append(stored)
  turn.record({ type: 'turn-start', resumed: false, attempt: 1 })
}

/** Drafts the first events of a further segment, with the answers that were given to it. */
export function resumeTurn(turn: Turn, open: OpenTurn, submission: Submission | undefined): void {
  const { cause = 'recovery', attempt = 2 } = open.resume ?? {}
  turn.record({ type: 'turn-start', resumed: true, attempt, cause: submission ? 'answers' : cause })
  if (open.openMessageId !== undefined) discard(turn, open.openMessageId, attempt)
  for (const [call, outcome] of submission?.outcomes ?? []) finalize(turn, call, outcome)
}

/** The calls of the latest answer that has any without a result. */
export async function openCalls(turn: Turn, open: OpenTurn): Promise<readonly Call[]> {
  const answer = turn.transcript.openAnswer
  return answer ? callsOf(turn, answer, open.calls) : []
}

export function callsOf(turn: Turn, answer: AssistantMessage, rows: OpenTurn['calls'] = []): Promise<readonly Call[]> {
  const parts = clientCalls(answer)
  return Promise.all(
    parts.map((part, index) => {
      const row = rows.find(({ toolCallId }) => toolCallId === part.toolCallId)
      return callOf(turn, part, index, row)
    }),
  )
}

/** Drafts the next step. */
export function beginStep(turn: Turn): void {
  turn.step++
  turn.attempt = 1
  turn.record({ type: 'step-start', step: turn.step, model: turn.model })
  beginMessage(turn)
}

/** Drafts the next message of the model. */
export function beginMessage(turn: Turn): void {
  turn.messageId = turn.ids.next('msg')
  const { step, messageId, attempt, model } = turn
  turn.record({ type: 'message-start', step, messageId, attempt, model })
  turn.writeRun('running')
}

/** Drafts the end of the present step. */
export function endStep(turn: Turn, calls: readonly Call[], continues: boolean): void {
  turn.record({ type: 'step-end', step: turn.step, toolCalls: calls.length, continues })
  turn.earlierCalls += calls.length
}

/** The process died while the model spoke. What it cost is not known. */
function discard(turn: Turn, messageId: string, attempt: number): void {
  turn.attempt = attempt
  turn.record({ type: 'message-discarded', step: turn.step, messageId, reason: 'crash' })
  const usage = estimatedInput(turn)
  turn.book(usage)
  turn.record({ type: 'usage', purpose: 'discarded-attempt', usage, estimated: true, model: turn.model })
}

function estimatedInput(turn: Turn): Usage {
  const inputTokens = Math.ceil(JSON.stringify(turn.transcript.view).length / 4)
  return { inputTokens, totalTokens: inputTokens, estimated: true }
}
