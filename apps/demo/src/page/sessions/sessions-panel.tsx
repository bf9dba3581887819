import { Plus } from 'lucide-react'
import type { SessionSummary } from '@bowline/client'
import { formatTime } from '../parts/duration.ts'

interface SessionsPanelProps {
  readonly sessions: readonly SessionSummary[]
  readonly current: string
  readonly onPick: (sessionId: string) => void
  readonly onNew: () => void
}

export function SessionsPanel({ sessions, current, onPick, onNew }: SessionsPanelProps) {
  return (
    <nav aria-label="Sessions" className="flex min-h-0 flex-col border-line bg-surface md:border-r">
      <div className="flex items-center justify-between px-4 py-3">
        <h2 className="label">Sessions</h2>
        <button type="button" className="button" onClick={onNew}>
          <Plus className="size-4" aria-hidden="true" />
          New
        </button>
      </div>
      <ul className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
        {sessions.length === 0 && <li className="px-2 text-sm text-ink-soft">None yet. Send something and it is kept.</li>}
        {sessions.map((session) => (
          <li key={session.sessionId}>
            <button
              type="button"
              aria-current={session.sessionId === current ? 'page' : undefined}
              onClick={() => onPick(session.sessionId)}
              className="w-full rounded-lg px-3 py-2 text-left hover:bg-sunken aria-[current]:bg-accent-soft"
            >
              <span className="block truncate text-sm font-medium">{titleOf(session)}</span>
              <span className="block text-xs text-ink-soft">
                {wordOf(session)} · {formatTime(session.updatedAt)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function wordOf({ status, expiredAt }: SessionSummary): string {
  return expiredAt === undefined ? (status ?? 'new').replaceAll('-', ' ') : 'expired'
}

function titleOf(session: SessionSummary): string {
  const { title } = session.metadata
  return typeof title === 'string' && title !== '' ? title : session.sessionId
}
