import { ShieldCheck, Skull } from 'lucide-react'
import type { ServerInfo } from '../../info.ts'
import { formatDuration, formatTime } from '../parts/duration.ts'
import type { Span, Timeline } from '../timeline/fold.ts'
import { assignTracks } from '../timeline/lanes.ts'
import { claimOf } from './crashes.ts'
import type { Call, Crash } from './crashes.ts'

interface CrashNoteProps {
  readonly crash: Crash
  /** Numbers of lost outcomes and of effects that happened twice. */
  readonly damage: { readonly lost: number; readonly doubled: number }
  /** Numbers of external effects, from the host. */
  readonly effects: Readonly<Record<string, number>> | undefined
  readonly timeline: Timeline
  readonly servers: readonly ServerInfo[] | undefined
}

/** Explains what the death of a process did to the run: when it happened, what was kept, what ran again, and the cost. */
export function CrashNote({ crash, damage, effects = {}, timeline, servers }: CrashNoteProps) {
  const [lost, back] = [crash.lostOwner, crash.backOwner].map(
    (owner) => servers?.find(({ runtimeId }) => runtimeId !== undefined && runtimeId === owner)?.name,
  )
  const other = servers && back !== undefined && crash.lostOwner !== crash.backOwner
  const { lostAt, backAt, kept, askedAgain } = crash
  const again = crash.again.filter(({ effect }) => effect !== 'once')
  const decided = crash.again.filter(({ effect }) => effect === 'once')
  const unsure = crash.unsure.filter(({ toolCallId }) => !decided.some((call) => call.toolCallId === toolCallId))
  const claim = claimOf(crash, damage)
  return (
    <aside data-testid="crash" aria-label="The server died here" className="mt-4 rounded-xl border border-bad/40 bg-surface text-sm">
      <p className="flex flex-wrap items-center gap-x-1 px-4 pt-3">
        <Skull className="mr-1 size-4 shrink-0 text-bad" aria-hidden="true" />
        <span className="font-medium">
          Server{lost === undefined ? '' : ` ${lost}`} lost after {formatTime(lostAt)},
        </span>
        <span>
          {other ? `server ${back} took the run up` : 'back'} within {formatDuration(backAt - lostAt)}.
        </span>
      </p>
      <ul className="mt-1 space-y-0.5 px-4 pl-10 text-ink-soft">
        {kept.length > 0 && <li>Kept: {names(kept)}.</li>}
        {askedAgain && <li>The answer that was being written is withdrawn. The model was asked again.</li>}
        {again.length > 0 && (
          <li>
            Run again under the same key: {names(again)}.{' '}
            {again.map(({ idempotencyKey }) => (
              <code key={idempotencyKey} className="ml-1 rounded bg-sunken px-1 font-mono text-xs break-all">
                {idempotencyKey}
              </code>
            ))}
          </li>
        )}
        {decided.length > 0 && <li>Run again, because a reader decided so: {names(decided)}.</li>}
        {unsure.length > 0 && <li>Not run again, because it may happen only once: {names(unsure)}.</li>}
      </ul>
      <BeforeAndAfter crash={crash} timeline={timeline} />
      <div className="flex flex-wrap items-center gap-x-5 gap-y-1 border-t border-line px-4 py-2">
        <dl className="flex flex-wrap items-center gap-x-5 gap-y-1 text-ink-soft">
          <Figure name="lost" value={damage.lost} good={damage.lost === 0} />
          <Figure name="doubled" value={damage.doubled} good={damage.doubled === 0} />
          {Object.entries(effects).map(([name, value]) => (
            <Figure key={name} name={name} value={value} />
          ))}
        </dl>
        {claim !== undefined && (
          <span className="ml-auto flex items-center gap-1.5 font-medium text-good">
            <ShieldCheck className="size-4" aria-hidden="true" />
            {claim}
          </span>
        )}
      </div>
    </aside>
  )
}

function Figure({ name, value, good }: { readonly name: string; readonly value: number; readonly good?: boolean }) {
  return (
    <div className="flex items-baseline gap-1.5">
      <dt>{name}</dt>
      <dd className={`text-base font-semibold tabular-nums ${good === undefined ? 'text-ink' : good ? 'text-good' : 'text-bad'}`}>
        {value}
      </dd>
    </div>
  )
}

function names(calls: readonly Call[]): string {
  return calls.map(({ name }) => name).join(', ')
}

/** Shows the run as the dead process left it, and as the next one completed it. */
function BeforeAndAfter({ crash, timeline }: Pick<CrashNoteProps, 'crash' | 'timeline'>) {
  const turn = timeline.turns.find(({ runId }) => runId === crash.runId)
  if (!turn) return null
  const nextCrash = timeline.gaps.find(({ startAt }) => startAt > crash.backAt)?.startAt ?? Infinity
  const lastAt = Math.min(nextCrash, timeline.turns.find(({ startAt }) => startAt > turn.startAt)?.startAt ?? Infinity, timeline.lastAt)
  const parts = [
    { name: 'before', from: turn.startAt, to: crash.lostAt },
    { name: 'after', from: crash.backAt, to: Math.max(crash.backAt, lastAt) },
  ]
  const longest = Math.max(...parts.map(({ from, to }) => to - from), 1)
  return (
    <div className="mx-4 my-3 grid gap-2 sm:grid-cols-2">
      {parts.map(({ name, from, to }) => (
        <Strip key={name} name={name} from={from} until={from + longest} spans={spansOf(timeline.spans, from, to)} />
      ))}
    </div>
  )
}

function spansOf(spans: readonly Span[], from: number, to: number): readonly Span[] {
  return spans.filter(({ startAt, lane }) => lane !== 'children' && startAt >= from && startAt <= to)
}

interface StripProps {
  readonly name: string
  readonly from: number
  readonly until: number
  readonly spans: readonly Span[]
}

const rowPixels = 14

function Strip({ name, from, until, spans }: StripProps) {
  const { tracks, count } = assignTracks(spans)
  const share = (at: number): number => Math.max(0, Math.min(1, (at - from) / (until - from))) * 100
  return (
    <figure>
      <figcaption className="label mb-1">{name}</figcaption>
      <div className="relative overflow-hidden rounded bg-sunken" style={{ height: count * rowPixels + 2 }}>
        {spans.map((span) => {
          const left = share(span.startAt)
          return (
            <span
              key={`${span.id}/${span.startSeq}`}
              title={span.name}
              className={`absolute h-3 rounded-sm ${span.withdrawn ? 'bg-bad/60' : span.lane === 'model' ? 'bg-model/60' : 'bg-accent/60'}`}
              style={{
                left: `${left}%`,
                width: `max(4px, ${share(span.endAt ?? until) - left}%)`,
                top: (tracks.get(span) ?? 0) * rowPixels + 2,
              }}
            />
          )
        })}
      </div>
    </figure>
  )
}
