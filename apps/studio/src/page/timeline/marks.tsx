import { formatDuration, formatTime } from '../parts/duration.ts'
import type { Commit, Gap, Span } from './fold.ts'
import type { Scale } from './scale.ts'

/** Actions of every mark: highlight its part of the conversation, and go to its event. */
export interface MarkActions {
  readonly onLight: (id: string | undefined) => void
  readonly onGo: (seq: number) => void
}

export const trackPixels = 24

interface SpanBarProps extends MarkActions {
  readonly span: Span
  readonly scale: Scale
  readonly lastAt: number
  readonly track: number
}

const shades = {
  model: 'border-model/60 bg-model/15',
  tools: 'border-accent/60 bg-accent/15',
  children: 'border-good/60 bg-good/15',
  trouble: 'border-bad/60 bg-bad-soft',
} as const

export function SpanBar({ span, scale, lastAt, track, onLight, onGo }: SpanBarProps) {
  const left = scale.at(span.startAt)
  const width = Math.max(6, scale.at(span.endAt ?? lastAt) - left)
  const details = describe(span)
  return (
    <button
      type="button"
      tabIndex={-1}
      title={details}
      aria-label={details}
      data-testid="span"
      onMouseEnter={() => onLight(span.id)}
      onMouseLeave={() => onLight(undefined)}
      onClick={() => onGo(span.startSeq)}
      className={`absolute flex items-center overflow-hidden rounded border text-left hover:brightness-95 dark:hover:brightness-125 ${shades[shadeOf(span)]} ${
        span.endAt === undefined ? 'animate-pulse border-dashed' : ''
      }`}
      style={{ left, width, top: track * trackPixels + 2, height: trackPixels - 4 }}
    >
      {width >= 28 && <span className={`truncate px-1.5 text-xs text-ink ${span.withdrawn ? 'italic' : ''}`}>{span.name}</span>}
      {span.withdrawn && (
        <svg className="absolute inset-0 size-full text-bad/60" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 10 10">
          <path d="M0 10L10 0" stroke="currentColor" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
        </svg>
      )}
    </button>
  )
}

interface CommitTickProps extends Pick<MarkActions, 'onGo'> {
  readonly commit: Commit
  readonly left: number
}

export function CommitTick({ commit, left, onGo }: CommitTickProps) {
  const range = commit.firstSeq === commit.lastSeq ? `event ${commit.firstSeq}` : `events ${commit.firstSeq} to ${commit.lastSeq}`
  const details = `Commit of ${range} at ${formatTime(commit.at)}: ${commit.types.join(', ')}`
  return (
    <button
      type="button"
      tabIndex={-1}
      title={details}
      aria-label={details}
      data-testid="commit"
      onClick={() => onGo(commit.lastSeq)}
      className="group absolute bottom-0 flex h-full w-[6px] -translate-x-1/2 items-end justify-center"
      style={{ left }}
    >
      <span
        className="w-[2px] rounded-full bg-ink-soft/70 group-hover:bg-accent"
        style={{ height: `${Math.min(100, 25 + commit.types.length * 12)}%` }}
      />
    </button>
  )
}

export function GapBand({ gap, scale }: { readonly gap: Gap; readonly scale: Scale }) {
  const left = scale.at(gap.startAt)
  const width = Math.max(10, scale.at(gap.endAt) - left)
  const duration = formatDuration(gap.endAt - gap.startAt)
  return (
    <div
      data-testid="gap"
      title={`Server lost, back within ${duration}`}
      className="absolute inset-y-0 border-x border-bad/50 bg-[repeating-linear-gradient(-45deg,transparent_0_6px,var(--bad-soft)_6px_12px)]"
      style={{ left, width }}
    >
      <span className="absolute bottom-1 left-1/2 z-10 -translate-x-1/2 rounded-full bg-bad-soft px-2 text-xs leading-5 font-medium whitespace-nowrap text-bad">
        server lost · back within {duration}
      </span>
    </div>
  )
}

function shadeOf(span: Span): keyof typeof shades {
  const fine = span.outcome === undefined || fineOutcomes.has(span.outcome)
  return fine && !span.withdrawn ? span.lane : 'trouble'
}

const fineOutcomes: ReadonlySet<string> = new Set(['result', 'stop', 'tool-calls', 'approve', 'done', 'skipped', 'completed'])
const outcomes: Readonly<Record<string, string>> = {
  stop: 'answered',
  'tool-calls': 'asked for tools',
  result: 'done',
  approve: 'approved',
  deny: 'denied',
}
const words: Readonly<Record<Span['lane'], string>> = { model: 'Model call', tools: 'Tool', children: 'Subagent' }

function describe(span: Span): string {
  const word = words[span.lane]
  if (span.endAt === undefined) return `${word} ${span.name}: since ${formatTime(span.startAt)}, not finished`
  const withdrawn = span.withdrawn ? ', withdrawn' : ''
  return `${word} ${span.name}: ${outcomes[span.outcome ?? ''] ?? span.outcome}${withdrawn} after ${formatDuration(span.endAt - span.startAt)}`
}
