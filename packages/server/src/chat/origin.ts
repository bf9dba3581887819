import type { AgentInput, StoredMessage } from '@bowline/agent-loop'
import type { RunInfo, Session } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'

/** Input that led to an answer, and its place. */
export interface Origin {
  readonly input: AgentInput
  /**
   * Entry before which the path must be rewound: the entry of the message, or the first one after it if the message was withdrawn.
   * Absent if the message is the last one.
   */
  readonly entryId?: string
}

const pageSize = 100

/** Returns the origin of a run, or of a message id. */
export async function originOf(session: Session, of: RunInfo | string): Promise<Origin> {
  const origin = typeof of === 'string' ? await originOfMessage(session, of) : await originOfRun(session, of)
  if (!origin) throw new ProblemError('unknown-entry', 'This conversation has no user message with this id, and no answer to one.')
  return origin
}

/** Returns the original input: hooks are applied again when it runs again. */
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

/** Returns the oldest of the given entries that is on the active path. */
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

/** Returns the message on the active path, or the user message that it answers. */
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
