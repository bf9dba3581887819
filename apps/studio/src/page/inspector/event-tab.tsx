import { commitsOf } from '@bowline/agent-loop/events'
import type { DurableEvent } from '@bowline/agent-loop/events'
import { useMemo } from 'react'
import type { ServerInfo } from '../../info.ts'
import { JsonText } from '../parts/json-text.tsx'
import { formatTime } from '../parts/duration.ts'

interface EventTabProps {
  readonly log: readonly DurableEvent[]
  readonly event: DurableEvent | undefined
  readonly servers: readonly ServerInfo[] | undefined
  readonly onShow: (count: number) => void
}

const around = 6

/** One complete event, the events around it, and its commit. */
export function EventTab({ log, event, servers, onShow }: EventTabProps) {
  const commits = useMemo(() => commitsOf(log), [log])
  const place = event ? log.indexOf(event) : -1
  if (!event || place < 0) return <p className="p-4 text-sm text-ink-soft">No event yet.</p>
  const from = Math.max(0, place - around)
  const { seq = 0 } = event
  const commit = commits.findLast(({ firstSeq, lastSeq }) => firstSeq <= seq && seq <= lastSeq)
  return (
    <div className="text-sm">
      <ol aria-label="Events" className="border-b border-line py-1">
        {log.slice(from, place + around + 1).map((other, index) => (
          <li key={other.seq}>
            <button
              type="button"
              aria-current={other === event ? 'true' : undefined}
              onClick={() => onShow(from + index + 1)}
              className="flex w-full gap-3 px-4 py-0.5 text-left hover:bg-sunken aria-[current]:bg-accent-soft"
            >
              <span className="w-10 shrink-0 text-right text-ink-soft tabular-nums">{other.seq}</span>
              <span className="truncate">{other.type}</span>
            </button>
          </li>
        ))}
      </ol>
      <div className="space-y-4 p-4">
        <dl className="grid grid-cols-[5rem_1fr] gap-y-1">
          <dt className="text-ink-soft">time</dt>
          <dd className="tabular-nums">
            {formatTime(event.at)}.{String(event.at % 1000).padStart(3, '0')}
          </dd>
          <dt className="text-ink-soft">commit</dt>
          <dd data-testid="event-commit">
            {commit
              ? commit.firstSeq === commit.lastSeq
                ? `event ${seq} alone`
                : `events ${commit.firstSeq} to ${commit.lastSeq}`
              : 'not told by the log'}
          </dd>
          {commit?.epoch !== undefined && (
            <>
              <dt className="text-ink-soft">epoch</dt>
              <dd data-testid="event-epoch">
                {commit.epoch} <span className="text-ink-soft">(claim of the run)</span>
              </dd>
            </>
          )}
          {commit?.owner !== undefined && (
            <>
              <dt className="text-ink-soft">process</dt>
              <dd data-testid="event-owner">
                {nameOf(servers, commit.owner)} <code className="font-mono text-xs break-all text-ink-soft">{commit.owner}</code>
              </dd>
            </>
          )}
        </dl>
        <JsonText label="Event" value={event} tall />
      </div>
    </div>
  )
}

function nameOf(servers: readonly ServerInfo[] | undefined, owner: string): string {
  const server = servers?.find(({ runtimeId }) => runtimeId === owner)
  return server ? `server ${server.name}` : ''
}
