import type { DurableEvent } from '@bowline/agent-loop/events'
import { JsonText } from '../parts/json-text.tsx'
import { formatTime } from '../parts/duration.ts'

interface EventTabProps {
  readonly log: readonly DurableEvent[]
  readonly event: DurableEvent | undefined
  readonly onShow: (count: number) => void
}

const around = 6

/** One event whole, between its neighbours, with the commit that it came with. */
export function EventTab({ log, event, onShow }: EventTabProps) {
  const place = event ? log.indexOf(event) : -1
  if (!event || place < 0) return <p className="p-4 text-sm text-ink-soft">No event yet.</p>
  const from = Math.max(0, place - around)
  const commit = log.filter(({ at, seq = 0 }) => at === event.at && Math.abs(seq - (event.seq ?? 0)) < 200)
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
            {commit.length === 1 ? 'alone' : `with ${commit.length - 1} more: ${commit[0]?.seq}–${commit.at(-1)?.seq}`}
          </dd>
        </dl>
        <JsonText label="Event" value={event} tall />
      </div>
    </div>
  )
}
