import type { SessionSummary } from '@bowline/client'

export interface SessionGroup {
  readonly name: string
  readonly sessions: readonly { readonly session: SessionSummary; readonly depth: number }[]
}

const dayMs = 86_400_000

/** Returns the sessions whose title contains the text, grouped by last activity. Children and forks are below their origin. */
export function groupSessions(sessions: readonly SessionSummary[], wanted: string, now: number): readonly SessionGroup[] {
  const text = wanted.trim().toLowerCase()
  const found = sessions.filter((session) => titleOf(session).toLowerCase().includes(text))
  const ids = new Set(found.map(({ sessionId }) => sessionId))
  const originOf = ({ parent, forkedFrom }: SessionSummary): string | undefined =>
    [parent, forkedFrom?.sessionId].find((id) => id !== undefined && ids.has(id))
  const below = Map.groupBy(found, originOf)
  const withBelow = (session: SessionSummary, depth: number): SessionGroup['sessions'] => [
    { session, depth },
    ...(below.get(session.sessionId) ?? []).flatMap((child) => withBelow(child, depth + 1)),
  ]
  const today = new Date(now).setHours(0, 0, 0, 0)
  const names = Map.groupBy(below.get(undefined) ?? [], ({ updatedAt }) =>
    updatedAt >= today ? 'Today' : updatedAt >= today - dayMs ? 'Yesterday' : 'Earlier',
  )
  return [...names].map(([name, tops]) => ({ name, sessions: tops.flatMap((top) => withBelow(top, 0)) }))
}

export function titleOf({ metadata, sessionId }: SessionSummary): string {
  const { title } = metadata
  return typeof title === 'string' && title !== '' ? title : sessionId
}
