import type { AgentInput, StoredMessage } from '@bowline/agent-loop'
import type { RunInfo, Session } from '@bowline/sessions'
import { ProblemError } from '../problems.ts'

/** Where an answer came from. */
export interface Origin {
  readonly input: AgentInput
  /** Of the user message in the tree; absent when nothing was left of it. */
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
  for await (const event of session.events({ cursor, live: false })) {
    if (!('runId' in event) || event.runId !== runId) continue
    if (event.type === 'run-queued') input = event.input as AgentInput | null
    else if (event.type === 'user-message') entryId ??= event.messageId
    else if (event.type === 'message-discarded' && event.messageId === entryId) entryId = undefined
  }
  return input === null ? undefined : { input, ...(entryId !== undefined && { entryId }) }
}

/** The message, or the user message that it answers, on the active path. */
export async function originOfMessage(session: Session, messageId: string): Promise<Origin | undefined> {
  let isFound = false
  let before: string | undefined
  do {
    const { items, next } = await session.messages({ limit: pageSize, ...(before !== undefined && { before }) })
    for (const message of items.toReversed()) {
      isFound ||= message.id === messageId
      if (isFound && message.role === 'user') return originOfEntry(message)
    }
    before = next
  } while (before !== undefined)
  return undefined
}

function originOfEntry({ id, content }: Extract<StoredMessage, { role: 'user' }>): Origin {
  return { input: { role: 'user', content }, entryId: id }
}
