import type { ChatHistory } from '@bowline/client/chat'
import type { UserMessage } from '@bowline/llm'
import type { RunRecord } from '@bowline/sessions'
import { isMoving } from '../execute/completion.ts'
import type { ReadableSession } from '../routes/owned-session.ts'
import type { Services } from '../services.ts'
import { numberOf } from '../session-log.ts'
import { successorInputId } from './chat-input-id.ts'
import { heldRunChunk } from './ending-chunks.ts'
import { givenAnswers } from './given-answers.ts'
import type { UiMessage } from './message-fold.ts'
import { pageMessageId, readRuns } from './path-runs.ts'
import { readPathTurns, type PathTurn } from './path-turns.ts'
import { readTurns } from './read-turns.ts'
import { storedMessages } from './stored-messages.ts'
import type { TurnFold } from './turn-fold.ts'
import { userParts } from './user-parts.ts'

type Folds = ReadonlyMap<string, TurnFold>

/** Returns the conversation as a page shows it that has read every stream. */
export async function readConversation(
  { runtime: { store }, redaction }: Pick<Services, 'runtime' | 'redaction'>,
  { session, sessionId, info }: ReadableSession,
  page: { readonly limit: number; readonly before?: string },
): Promise<ChatHistory> {
  const { turns, next } = await readPathTurns(store, session.key, page)
  const lastSeq = numberOf(info.cursor)
  const runs = await readRuns(store, session.key, {
    before: page.before,
    lastSeq,
    oldest: next === undefined ? undefined : turns[0]?.runId,
  })
  const { openRun } = info
  const answers = openRun ? await givenAnswers(store, openRun) : []
  const onPath = new Set(turns.map(({ runId }) => runId))
  const replaced = await replacedRuns(runs)
  const shown = runs.filter((run) => onPath.has(run.id) || (mayHaveLeftNothing(run) && !replaced.has(run.id)))
  const { folds, cursor } = await readTurns({ session, sessionId, redaction, end: info.cursor }, shown)
  if (openRun) {
    const fold = folds.get(openRun.runId)
    fold?.addAnswers(answers)
    if (!isMoving(openRun)) fold?.add((openRun.heldRuns ?? []).map(heldRunChunk))
  }
  const userMessage = async (run: RunRecord): Promise<readonly UiMessage[]> => {
    if (run.input === null) return []
    const id = (await pageMessageId(store, run)) ?? folds.get(run.id)?.inputEntry ?? `${run.id}:input`
    return [{ id, role: 'user', parts: userParts(run.input as unknown as UserMessage) }]
  }
  const messages: UiMessage[] = []
  const queued: UiMessage[] = []
  const byId = new Map(shown.map((run) => [run.id, run]))
  for (const turn of withAbsent(turns, runs, { onPath, folds, replaced, openRunId: openRun?.runId })) {
    const run = turn.runId === undefined ? undefined : byId.get(turn.runId)
    const fold = run && folds.get(run.id)
    if (!run || !fold || !isWhole(turn, fold, openRun?.runId)) messages.push(...storedMessages(turn, { sessionId, redaction }))
    else if (isWaitingBehind(run, openRun?.runId)) queued.push(...(await userMessage(run)))
    else messages.push(...(await userMessage(run)), ...(fold.message ? [fold.message] : []))
  }
  return {
    id: sessionId,
    ...({ messages, queued } as unknown as Pick<ChatHistory, 'messages' | 'queued'>),
    ...(next !== undefined && { next }),
    cursor,
    ...(openRun && { run: { runId: openRun.runId, status: openRun.status, stopping: openRun.stopping } }),
  }
}

/** Returns the ids of runs that another run has replaced. */
async function replacedRuns(runs: readonly RunRecord[]): Promise<ReadonlySet<string>> {
  const inputs = new Set(runs.flatMap(({ inputId }) => inputId ?? []))
  const replaced = await Promise.all(runs.map(async ({ id }) => (inputs.has(await successorInputId(id)) ? id : [])))
  return new Set(replaced.flat())
}

/**
 * Returns true if the run may have left no message in the transcript: it failed, was stopped, has not begun, or was handled by a
 * hook.
 */
function mayHaveLeftNothing({ status, reason }: RunRecord): boolean {
  return status !== 'completed' || reason === 'handled'
}

function isWaitingBehind({ id, status }: RunRecord, openRunId: string | undefined): boolean {
  return status === 'queued' && openRunId !== undefined && id !== openRunId
}

/**
 * Returns true if the turn is complete on the path. The path may end in the middle of a turn. The turn of the open run may have
 * grown since the path was read.
 */
function isWhole({ runId, messages }: PathTurn, { lastAnswer }: TurnFold, openRunId: string | undefined): boolean {
  return runId === openRunId || lastAnswer === undefined || messages.length === 0 || messages.some(({ id }) => id === lastAnswer)
}

interface Known {
  readonly onPath: ReadonlySet<string | undefined>
  readonly folds: Folds
  readonly replaced: ReadonlySet<string>
  readonly openRunId: string | undefined
}

/**
 * Returns the turns of the path together with turns that left no message on it. Each is placed after the turn that came before it.
 */
function withAbsent(
  turns: readonly PathTurn[],
  runs: readonly RunRecord[],
  { onPath, folds, replaced, openRunId }: Known,
): readonly PathTurn[] {
  const behind = new Map<string | undefined, PathTurn[]>()
  let previous: string | undefined
  let isShown = true
  for (const { id } of runs) {
    if (onPath.has(id)) {
      previous = id
      isShown = true
    } else if (id === openRunId || (folds.has(id) && !folds.get(id)?.isStored)) {
      if (isShown || id === openRunId) behind.set(previous, [...(behind.get(previous) ?? []), { runId: id, messages: [] }])
    } else if (!replaced.has(id)) {
      // The run is on another branch, and so are the ones that follow it.
      isShown = false
    }
  }
  const copied = turns.findLastIndex(({ runId }) => runId === undefined) + 1
  const first = behind.get(undefined) ?? []
  return [...turns.slice(0, copied), ...first, ...turns.slice(copied)].flatMap((turn) =>
    turn.runId === undefined || !onPath.has(turn.runId) ? [turn] : [turn, ...(behind.get(turn.runId) ?? [])],
  )
}
