import type { SessionSummary } from '@bowline/client'
import { Plus, Trash2 } from 'lucide-react'
import { AlertDialog } from 'radix-ui'
import { memo, useMemo, useState } from 'react'
import { formatTime } from '../parts/duration.ts'
import { groupSessions, titleOf } from './group-sessions.ts'

interface SessionsPanelProps {
  readonly sessions: readonly SessionSummary[]
  readonly current: string
  readonly onPick: (sessionId: string) => void
  readonly onNew: () => void
  /** Absent if the token may not delete. */
  readonly onDelete: ((sessionId: string) => Promise<unknown>) | undefined
}

export const SessionsPanel = memo(function SessionsPanel({ sessions, current, onPick, onNew, onDelete }: SessionsPanelProps) {
  const [wanted, setWanted] = useState('')
  const [leaving, setLeaving] = useState<Leaving>()
  const groups = useMemo(() => groupSessions(sessions, wanted, Date.now()), [sessions, wanted])
  return (
    <nav aria-label="Sessions" className="flex min-h-0 flex-col border-line bg-surface md:border-r">
      <div className="flex items-center justify-between px-4 pt-3 pb-2">
        <h2 className="label">Sessions</h2>
        <button type="button" className="button" onClick={onNew}>
          <Plus className="size-4" aria-hidden="true" />
          New
        </button>
      </div>
      {sessions.length > 5 && (
        <div className="px-3 pb-2">
          <input
            type="search"
            aria-label="Search sessions"
            placeholder="Search"
            className="field"
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
          />
        </div>
      )}
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
        {sessions.length === 0 && <p className="px-2 text-sm text-ink-soft">None yet. Send something and it is kept.</p>}
        {sessions.length > 0 && groups.length === 0 && <p className="px-2 text-sm text-ink-soft">None is called that.</p>}
        {groups.map(({ name, sessions: members }) => (
          <section key={name} aria-label={name}>
            <h3 className="px-3 pt-3 pb-1 text-xs text-ink-soft">{name}</h3>
            <ul>
              {members.map(({ session, depth }) => (
                <SessionRow
                  key={session.sessionId}
                  sessionId={session.sessionId}
                  title={titleOf(session)}
                  word={wordOf(session)}
                  updatedAt={session.updatedAt}
                  depth={depth}
                  isCurrent={session.sessionId === current}
                  onPick={onPick}
                  onLeave={onDelete && setLeaving}
                />
              ))}
            </ul>
          </section>
        ))}
      </div>
      {onDelete && <DeleteDialog leaving={leaving} onKeep={() => setLeaving(undefined)} onDelete={onDelete} />}
    </nav>
  )
})

/** Session whose deletion is being confirmed, and the button that asked. */
interface Leaving {
  readonly sessionId: string
  readonly title: string
  readonly button: HTMLElement
}

interface SessionRowProps {
  readonly sessionId: string
  readonly title: string
  readonly word: string
  readonly updatedAt: number
  readonly depth: number
  readonly isCurrent: boolean
  readonly onPick: (sessionId: string) => void
  readonly onLeave: ((leaving: Leaving) => void) | undefined
}

/** Takes plain values: each read returns a new list, but most of its rows are unchanged. */
const SessionRow = memo(function SessionRow({ sessionId, title, word, updatedAt, depth, isCurrent, onPick, onLeave }: SessionRowProps) {
  return (
    <li className="group/row relative" style={{ paddingLeft: depth * 14 }}>
      <button
        type="button"
        aria-current={isCurrent ? 'page' : undefined}
        onClick={() => onPick(sessionId)}
        className="w-full rounded-lg py-1.5 pr-8 pl-3 text-left hover:bg-sunken aria-[current]:bg-accent-soft"
      >
        <span className="block truncate text-sm font-medium">{title}</span>
        <span className="block truncate text-xs text-ink-soft">
          {word} · {formatTime(updatedAt)}
        </span>
      </button>
      {onLeave && (
        <button
          type="button"
          aria-haspopup="dialog"
          aria-label={`Delete ${title}`}
          onClick={(event) => onLeave({ sessionId, title, button: event.currentTarget })}
          className="absolute top-2 right-1.5 rounded-md p-1.5 text-ink-soft opacity-0 group-hover/row:opacity-100 hover:bg-sunken hover:text-bad focus-visible:opacity-100 [@media(hover:none)]:opacity-100"
        >
          <Trash2 className="size-4" aria-hidden="true" />
        </button>
      )}
    </li>
  )
})

interface DeleteDialogProps {
  readonly leaving: Leaving | undefined
  readonly onKeep: () => void
  readonly onDelete: (sessionId: string) => Promise<unknown>
}

function DeleteDialog({ leaving, onKeep, onDelete }: DeleteDialogProps) {
  return (
    <AlertDialog.Root open={leaving !== undefined} onOpenChange={(open) => void (open || onKeep())}>
      {leaving && (
        <AlertDialog.Portal>
          <AlertDialog.Overlay className="overlay" />
          <AlertDialog.Content
            className="dialog w-[min(26rem,92vw)]"
            onCloseAutoFocus={(event) => {
              event.preventDefault()
              leaving.button.focus()
            }}
          >
            <AlertDialog.Title className="text-lg font-semibold">Delete “{leaving.title}”?</AlertDialog.Title>
            <AlertDialog.Description className="mt-2 text-sm text-ink-soft">
              Its messages and its log go, and a run that is open is stopped. There is no way back.
            </AlertDialog.Description>
            <div className="mt-6 flex justify-end gap-2">
              <AlertDialog.Cancel className="button">Keep it</AlertDialog.Cancel>
              <AlertDialog.Action className="button button-danger" onClick={() => void onDelete(leaving.sessionId)}>
                Delete it
              </AlertDialog.Action>
            </div>
          </AlertDialog.Content>
        </AlertDialog.Portal>
      )}
    </AlertDialog.Root>
  )
}

function wordOf({ status, expiredAt }: SessionSummary): string {
  return expiredAt === undefined ? (status ?? 'new').replaceAll('-', ' ') : 'expired'
}
