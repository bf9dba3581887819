import { formatDuration, formatTime } from '../parts/duration.ts'
import type { Commit, Gap, Span, Turn } from './fold.ts'
import type { Scale } from './scale.ts'

interface SpanBarProps {
  readonly span: Span
  readonly scale: Scale
  readonly lastAt: number
  readonly track: number
  readonly tracks: number
  readonly onDetails: (details: string) => void
}

const shades = {
  model: 'border-model/60 bg-model/20',
  tools: 'border-accent/60 bg-accent/20',
  trouble: 'border-bad/60 bg-bad/15',
} as const

export function SpanBar({ span, scale, lastAt, track, tracks, onDetails }: SpanBarProps) {
  const top = scale.at(span.startAt)
  const height = Math.max(4, scale.at(span.endAt ?? lastAt) - top)
  const details = describe(span)
  return (
    <button
      type="button"
      title={details}
      aria-label={details}
      onMouseEnter={() => onDetails(details)}
      onFocus={() => onDetails(details)}
      onClick={() => onDetails(details)}
      className={`absolute flex flex-col justify-start overflow-hidden rounded-md border text-left ${shades[shadeOf(span)]} ${
        span.endAt === undefined ? 'animate-pulse border-dashed' : ''
      }`}
      style={{ top, height, left: `${(track / tracks) * 100}%`, width: `calc(${100 / tracks}% - 2px)` }}
    >
      {height >= 18 && (
        <span className={`block truncate px-1.5 pt-0.5 text-[11px] leading-4 ${span.withdrawn ? 'line-through' : ''}`}>{span.name}</span>
      )}
      {span.withdrawn && (
        <svg className="absolute inset-0 size-full text-bad/70" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 10 10">
          <path d="M0 10L10 0" stroke="currentColor" strokeWidth="1" vectorEffect="non-scaling-stroke" />
        </svg>
      )}
    </button>
  )
}

interface CommitTickProps {
  readonly commit: Commit
  readonly top: number
  readonly onDetails: (details: string) => void
}

export function CommitTick({ commit, top, onDetails }: CommitTickProps) {
  const range = commit.firstSeq === commit.lastSeq ? `${commit.firstSeq}` : `${commit.firstSeq}–${commit.lastSeq}`
  const details = `Commit of ${range} at ${formatTime(commit.at)}: ${commit.types.join(', ')}`
  return (
    <button
      type="button"
      title={details}
      aria-label={details}
      onMouseEnter={() => onDetails(details)}
      onFocus={() => onDetails(details)}
      onClick={() => onDetails(details)}
      className="group absolute right-0 flex h-[5px] w-full items-center justify-end"
      style={{ top }}
    >
      <span className="h-px w-4 bg-ink-soft group-hover:w-full group-hover:bg-accent" style={{ width: `${12 + commit.types.length * 5}%` }} />
    </button>
  )
}

export function TurnLine({ turn, top }: { readonly turn: Turn; readonly top: number }) {
  return (
    <div className="pointer-events-none absolute -inset-x-4 border-t border-line" style={{ top: top - 4 }} aria-hidden="true">
      <span className="sr-only">
        turn {turn.turn} {turn.status}
      </span>
    </div>
  )
}

export function GapBand({ gap, scale }: { readonly gap: Gap; readonly scale: Scale }) {
  const top = scale.at(gap.startAt)
  const height = Math.max(16, scale.at(gap.endAt) - top)
  return (
    <div
      data-testid="gap"
      className="absolute -inset-x-4 flex items-center border-y px-4 border-bad/40 bg-[repeating-linear-gradient(-45deg,transparent_0_6px,var(--bad-soft)_6px_12px)]"
      style={{ top, height }}
    >
      <span className="z-10 rounded-full bg-bad-soft px-2 text-[11px] leading-4 font-medium text-bad">
        server lost · back within {formatDuration(gap.endAt - gap.startAt)}
      </span>
    </div>
  )
}

function shadeOf(span: Span): keyof typeof shades {
  const fine = span.outcome === undefined || fineOutcomes.has(span.outcome)
  return fine && !span.withdrawn ? span.lane : 'trouble'
}

const fineOutcomes: ReadonlySet<string> = new Set(['result', 'stop', 'tool-calls', 'approve', 'done', 'skipped'])
const outcomes: Readonly<Record<string, string>> = { stop: 'answered', 'tool-calls': 'asked for tools', result: 'done', approve: 'approved', deny: 'denied' }

function describe(span: Span): string {
  const word = span.lane === 'model' ? 'Model call' : 'Tool'
  if (span.endAt === undefined) return `${word} ${span.name}: since ${formatTime(span.startAt)}, not finished`
  const withdrawn = span.withdrawn ? ', withdrawn' : ''
  return `${word} ${span.name}: ${outcomes[span.outcome ?? ''] ?? span.outcome}${withdrawn} after ${formatDuration(span.endAt - span.startAt)}`
}
