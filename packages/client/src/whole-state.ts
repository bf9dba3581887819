import type { ClientSession } from './client-session.ts'
import type { SessionView } from './wire-sessions.ts'

const limit = 500

/** Returns the state with all pages of messages, so that a fold that it replaces loses nothing. */
export async function wholeState(session: Pick<ClientSession, 'state'>, abortSignal: AbortSignal): Promise<SessionView> {
  let whole = await session.state({ limit, abortSignal })
  while (whole.hasMore) {
    const before = whole.messages[0]?.id
    if (before === undefined) break
    const { messages, hasMore } = await session.state({ limit, before, abortSignal })
    whole = { ...whole, hasMore, messages: [...messages, ...whole.messages] }
  }
  return whole
}
