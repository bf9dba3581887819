import { isEnded } from '@bowline/agent-loop/events'
import type { RunInfo, Session } from '@bowline/sessions'
import { messageInputId, successorInputId } from './chat-input-id.ts'
import { originOfMessage } from './origin.ts'

/** Newest version of a user message and its answer. */
export interface Version {
  /** Id of the run, or of the message itself if it did not come from a page. */
  readonly id: string
  readonly run?: RunInfo
  /** Run that has replaced it, or is about to. */
  readonly successor?: RunInfo
}

const pageSize = 100

/**
 * Returns the version that a page refers to. The id of an answer is the id of its run, and `successor` is the run that has replaced
 * it. A message keeps its id when it runs again: the newest version is returned, and it is the `successor` while it is open,
 * because the request is then a repeat.
 */
export async function versionOf(session: Session, messageId: string): Promise<Version> {
  const inputId = await messageInputId(messageId)
  const { named, byInputId } = await runsBackTo(session, (run) => run.runId === messageId || run.inputId === inputId)
  const successorOf = async (id: string): Promise<RunInfo | undefined> => byInputId.get(await successorInputId(id))
  if (named?.inputId !== inputId) return version(named?.runId ?? messageId, named, await successorOf(named?.runId ?? messageId))
  let newest = named
  for (let next = await successorOf(newest.runId); next; next = await successorOf(newest.runId)) newest = next
  const isRepeat = newest !== named && !isEnded(newest.status)
  return version(newest.runId, newest, isRepeat ? newest : undefined)
}

/** Returns true if the session has had a message with this id, from a page or otherwise. */
export async function isKnown(session: Session, messageId: string): Promise<boolean> {
  if (!(await session.info())) return false
  const { id, run } = await versionOf(session, messageId)
  return run !== undefined || (await originOfMessage(session, id)) !== undefined
}

function version(id: string, run: RunInfo | undefined, successor: RunInfo | undefined): Version {
  return { id, ...(run && { run }), ...(successor && { successor }) }
}

/** Reads runs newest first, so that a run that replaces another comes before it. */
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
