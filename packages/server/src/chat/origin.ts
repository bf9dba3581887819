import type { AgentInput, StoredMessage } from '@bowline/agent-loop'
import type { RunInfo, Session } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'

/** Where an answer came from. */
export interface Origin {
  readonly input: AgentInput
  /** The entry whose place the message has: its own, or the first one after it if it was withdrawn. Absent: it is the last one. */
  readonly entryId?: string
}

const pageSize = 100

/** `of`: a run, or the id of a message. */
export async function originOf(session: Session, of: RunInfo | string): Promise<Origin> {
  const origin = typeof of === 'string' ? await originOfMessage(session, of) : await originOfRun(session, of)
  if (!origin) throw new ProblemError('unknown-entry', 'This conversation has no user message of that id, and no answer to one.')
  return origin
}

/** As it was given: what hooks have made of it they make again. */
async function originOfRun(session: Session, { runId, cursor }: RunInfo): Promise<Origin | undefined> {
  let input: AgentInput | null = null
  let entryId: string | undefined
  const later = new Set<string>()
  for await (const event of session.events({ cursor, live: false })) {
    if (event.type === 'user-message' && event.runId !== runId) later.add(event.messageId)
    if (!('runId' in event) || event.runId !== runId) continue
    if (event.type === 'run-queued') input = event.input as AgentInput | null
    else if (event.type === 'user-message') entryId ??= event.messageId
    else if (event.type === 'message-discarded' && event.messageId === entryId) entryId = undefined
  }
  if (input === null) return undefined
  entryId ??= await oldestOnPath(session, later)
  return { input, ...(entryId !== undefined && { entryId }) }
}

/** Returns the oldest of the given entries that the active path still has. */
async function oldestOnPath(session: Session, entryIds: ReadonlySet<string>): Promise<string | undefined> {
  let oldest: string | undefined
  let left = entryIds.size
  if (left === 0) return undefined
  for await (const { id } of newestFirst(session)) {
    if (!entryIds.has(id)) continue
    oldest = id
    if (--left === 0) break
  }
  return oldest
}

/** The message, or the user message that it answers, on the active path. */
export async function originOfMessage(session: Session, messageId: string): Promise<Origin | undefined> {
  let isFound = false
  for await (const message of newestFirst(session)) {
    isFound ||= message.id === messageId
    if (isFound && message.role === 'user') return originOfEntry(message)
  }
  return undefined
}

async function* newestFirst(session: Session): AsyncGenerator<StoredMessage> {
  let before: string | undefined
  do {
    const { items, next } = await session.messages({ limit: pageSize, ...(before !== undefined && { before }) })
    yield* items.toReversed()
    before = next
  } while (before !== undefined)
}

function originOfEntry({ id, content }: Extract<StoredMessage, { role: 'user' }>): Origin {
  return { input: { role: 'user', content }, entryId: id }
}
