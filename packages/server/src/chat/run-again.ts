import { isEnded } from '@bowline/agent-loop/events'
import type { UserMessageInput } from '@bowline/client'
import type { AgentInput } from '@bowline/agent-loop'
import type { RunInfo, Runtime, Session } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'
import { toProblemError } from '../to-problem-error.ts'
import { turnOf, type ChatTurn } from './admit-chat.ts'
import { successorInputId } from './chat-input-id.ts'
import { originOf } from './origin.ts'
import { versionOf } from './version.ts'

/**
 * Runs a user message again on a new branch, with the same or new content. Deletes nothing. `messageId` is the message or its
 * answer. A repeated request attaches to the run of the first one.
 */
export async function runAgain(
  runtime: Runtime,
  session: Session,
  messageId: string,
  replace?: () => Promise<UserMessageInput>,
): Promise<ChatTurn> {
  const info = await session.info()
  if (!info) throw new ProblemError('session-missing', 'There is no session with this id.')
  // The active path can only be moved when no run is open.
  if (info.openRun?.stopping) await session.stop({ runId: info.openRun.runId })
  const { id, run, successor } = await versionOf(session, messageId)
  if (successor) return turnOf(session, successor)
  if (run && !isEnded(run.status)) throw busy(run)
  const origin = await originOf(session, run ?? id)
  const input = ((await replace?.()) as AgentInput | undefined) ?? origin.input
  try {
    if (origin.entryId !== undefined) await moveBefore(session, origin.entryId)
    const { runId } = await session.send(input, { id: await successorInputId(id), onBusy: 'reject' })
    return turnOf(session, await runtime.run(runId))
  } catch (error) {
    // If two requests come at the same time, one finds the run of the other.
    const other = toProblemError(error).code === 'busy' ? (await versionOf(session, messageId)).successor : undefined
    if (!other) throw error
    return turnOf(session, other)
  }
}

async function moveBefore(session: Session, entryId: string): Promise<void> {
  const { items, next } = await session.messages({ leaf: entryId, before: entryId, limit: 1 })
  await session.switchTo(next ?? items[0]?.id ?? null)
}

/** Returns the refusal of an input while a run is open. Its text says what to do. */
export function busy({ runId, status }: RunInfo): ProblemError {
  const asks = status === 'waiting-for-user' || status === 'needs-recovery'
  const state = asks ? 'waits for an answer to what it has asked. Answer it' : 'is still answering. Wait for it'
  return new ProblemError('busy', `The assistant ${state}, or stop it, and send again.`, { runId })
}
