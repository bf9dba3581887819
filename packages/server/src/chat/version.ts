import type { RunInfo, Session } from '@bowline/sessions'
import { messageInputId, successorInputId } from './chat-input-id.ts'
import { originOfMessage } from './origin.ts'

/** A user message with its answer, as it stands after all that took its place. */
export interface Version {
  /** Of the run; of a message that did not come from a page, its own. */
  readonly id: string
  readonly run?: RunInfo
  /** The run that took its place, or is about to. */
  readonly successor?: RunInfo
}

const pageSize = 100

/**
 * The version that a page means. An answer is named by its run, and its successor is whoever took its place before. A
 * message keeps its name when it runs again: the newest version is meant, and while that is open the request is a repeat.
 */
export async function versionOf(session: Session, messageId: string): Promise<Version> {
  const inputId = await messageInputId(messageId)
  const { named, byInputId } = await runsBackTo(session, (run) => run.runId === messageId || run.inputId === inputId)
  const successorOf = async (id: string): Promise<RunInfo | undefined> => byInputId.get(await successorInputId(id))
  if (named?.inputId !== inputId) return version(named?.runId ?? messageId, named, await successorOf(named?.runId ?? messageId))
  let newest = named
  for (let next = await successorOf(newest.runId); next; next = await successorOf(newest.runId)) newest = next
  const isRepeat = newest !== named && newest.endedAt === undefined
  return version(newest.runId, newest, isRepeat ? newest : undefined)
}

/** Whether the session has had a message of this id, from a page or otherwise. */
export async function isKnown(session: Session, messageId: string): Promise<boolean> {
  if (!(await session.info())) return false
  const { id, run } = await versionOf(session, messageId)
  return run !== undefined || (await originOfMessage(session, id)) !== undefined
}

function version(id: string, run: RunInfo | undefined, successor: RunInfo | undefined): Version {
  return { id, ...(run && { run }), ...(successor && { successor }) }
}

/** Newest first: whatever took the place of a run is met before it. */
async function runsBackTo(
  session: Session,
  isNamed: (run: RunInfo) => boolean,
): Promise<{ readonly named: RunInfo | undefined; readonly byInputId: ReadonlyMap<string, RunInfo> }> {
  const byInputId = new Map<string, RunInfo>()
  let page: string | undefined
  do {
    const { items, next } = await session.runs({ newestFirst: true, limit: pageSize, ...(page !== undefined && { page }) })
    for (const run of items) {
      if (isNamed(run)) return { named: run, byInputId }
      if (run.inputId !== undefined) byInputId.set(run.inputId, run)
    }
    page = next
  } while (page !== undefined)
  return { named: undefined, byInputId }
}
