import { ZoomIn, ZoomOut } from 'lucide-react'
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { formatDuration, formatTime } from '../parts/duration.ts'
import type { Span, Timeline } from './fold.ts'
import { assignTracks } from './lanes.ts'
import { CommitTick, GapBand, SpanBar, trackPixels } from './marks.tsx'
import type { MarkActions } from './marks.tsx'
import { axisLabels, createScale } from './scale.ts'
import type { Scale } from './scale.ts'
import { useWindow } from './use-window.ts'

interface TimelinePanelProps extends MarkActions {
  readonly timeline: Timeline
  /** Time of the selected event. Absent in the present. */
  readonly shownAt: number | undefined
  /** Scrubber of the panel. */
  readonly children: ReactNode
}

const leastZoom = 1 / 8
const mostZoom = 16
/** Maximum factor by which a short log is stretched to fill the panel. */
const mostStretch = 5
const lanes = ['model', 'tools', 'children'] as const
const laneNames: Readonly<Record<Span['lane'], string>> = { model: 'Model', tools: 'Tools', children: 'Subagents' }
const edgePixels = 16

export function TimelinePanel({ timeline, shownAt, children, ...actions }: TimelinePanelProps) {
  const [zoom, setZoom] = useState(1)
  return (
    <section aria-label="Timeline" className="flex min-h-0 flex-col border-t border-line bg-surface">
      <header className="flex items-center gap-3 px-4 pt-2 text-xs text-ink-soft">
        <h2 className="label">Timeline</h2>
        <span className="truncate">{summary(timeline)}</span>
        <div className="ml-auto flex gap-1">
          <ZoomButton
            label="Zoom out"
            icon={<ZoomOut className="size-4" aria-hidden="true" />}
            disabled={zoom <= leastZoom}
            onClick={() => setZoom(zoom / 2)}
          />
          <ZoomButton
            label="Zoom in"
            icon={<ZoomIn className="size-4" aria-hidden="true" />}
            disabled={zoom >= mostZoom}
            onClick={() => setZoom(zoom * 2)}
          />
        </div>
      </header>
      {timeline.commits.length === 0 ? (
        <p className="px-4 py-3 text-sm text-ink-soft">Every model call, tool and commit of this session will be drawn here.</p>
      ) : (
        <Drawing timeline={timeline} zoom={zoom} shownAt={shownAt} {...actions} />
      )}
      {children}
    </section>
  )
}

function ZoomButton({
  label,
  icon,
  disabled,
  onClick,
}: {
  readonly label: string
  readonly icon: ReactNode
  readonly disabled: boolean
  readonly onClick: () => void
}) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={onClick}
      className="rounded p-1 hover:bg-sunken disabled:opacity-40"
    >
      {icon}
    </button>
  )
}

interface DrawingProps extends MarkActions {
  readonly timeline: Timeline
  readonly zoom: number
  readonly shownAt: number | undefined
}

/** Rendered again only when the log has grown. */
const Drawing = memo(function Drawing({ timeline, zoom, shownAt, onLight, onGo }: DrawingProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const scale = useMemo(() => {
    const natural = createScale(timeline).width
    const stretch = natural === 0 ? 1 : Math.max(1, Math.min(mostStretch, (width - 4 * edgePixels - 40) / natural))
    return createScale(timeline, zoom * stretch)
  }, [timeline, zoom, width])
  const rows = useMemo(
    () =>
      lanes
        .map((lane) => ({ lane, spans: timeline.spans.filter((span) => span.lane === lane) }))
        .filter(({ lane, spans }) => lane !== 'children' || spans.length > 0)
        .map(({ lane, spans }) => ({ lane, spans, ...assignTracks(spans) })),
    [timeline.spans],
  )
  const [from, to] = useWindow(box, scale.width)
  useFollowing(box, { drawing: scale.width, box: width }, shownAt === undefined ? undefined : scale.at(shownAt))
  return (
    <div className="flex min-h-0 flex-1 overflow-y-auto">
      <div className="sticky left-0 w-20 shrink-0 pt-6 pl-4 text-xs text-ink-soft" aria-hidden="true">
        {rows.map(({ lane, count }) => (
          <div key={lane} className="mb-1 pt-1" style={{ height: count * trackPixels }}>
            {laneNames[lane]}
          </div>
        ))}
        <div className="pt-1">Commits</div>
      </div>
      <div
        ref={box}
        tabIndex={0}
        role="group"
        aria-label="Drawing of the timeline"
        className="min-w-0 flex-1 overflow-x-auto overflow-y-hidden"
      >
        <div className="relative pb-2" style={{ width: scale.width + 2 * edgePixels + 40, marginInline: edgePixels }}>
          <Marks {...{ timeline, scale, rows, from, to, onLight, onGo }} />
          {shownAt !== undefined && (
            <div
              data-testid="playhead"
              className="pointer-events-none absolute inset-y-0 z-20 w-0.5 bg-accent"
              style={{ left: scale.at(shownAt) - 1 }}
            />
          )}
        </div>
      </div>
    </div>
  )
})

interface MarksProps extends MarkActions {
  readonly timeline: Timeline
  readonly scale: Scale
  readonly rows: readonly Row[]
  /** Visible range in pixels. */
  readonly from: number
  readonly to: number
}

interface Row extends ReturnType<typeof assignTracks> {
  readonly lane: Span['lane']
  readonly spans: readonly Span[]
}

/** Axis and visible marks. They are not rendered again when another moment is selected. */
const Marks = memo(function Marks({ timeline, scale, rows, from, to, onLight, onGo }: MarksProps) {
  const labels = useMemo(() => axisLabels(scale), [scale])
  const isInSight = (startAt: number, endAt: number): boolean => scale.at(endAt) >= from && scale.at(startAt) <= to
  return (
    <>
      {timeline.gaps
        .filter((gap) => isInSight(gap.startAt, gap.endAt))
        .map((gap) => (
          <GapBand key={gap.endAt} gap={gap} scale={scale} />
        ))}
      <div className="relative h-6 text-xs text-ink-soft tabular-nums" aria-hidden="true">
        {labels
          .filter(({ x }) => x >= from - 100 && x <= to)
          .map(({ x, sinceMs }) => (
            <span key={x} className="absolute top-1 border-l border-line pl-1 whitespace-nowrap" style={{ left: x }}>
              {formatDuration(sinceMs)}
            </span>
          ))}
      </div>
      {rows.map(({ lane, spans, tracks, count }) => (
        <div key={lane} className="relative mb-1 rounded bg-sunken/60" style={{ height: count * trackPixels }}>
          {spans
            .filter((span) => isInSight(span.startAt, span.endAt ?? timeline.lastAt))
            .map((span) => (
              <SpanBar
                key={`${span.id}/${span.startSeq}`}
                {...{ span, scale, onLight, onGo }}
                lastAt={timeline.lastAt}
                track={tracks.get(span) ?? 0}
              />
            ))}
        </div>
      ))}
      <div className="relative h-6">
        {timeline.commits
          .filter(({ at }) => isInSight(at, at))
          .map((commit) => (
            <CommitTick key={commit.firstSeq} commit={commit} left={scale.at(commit.at)} onGo={onGo} />
          ))}
      </div>
    </>
  )
})

function useWidth(box: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [box])
  return width
}

/**
 * Keeps the end visible while it grows or the box shrinks, unless the user has scrolled back. A moment in the past is scrolled
 * into view.
 */
function useFollowing(
  box: React.RefObject<HTMLDivElement | null>,
  widths: { readonly drawing: number; readonly box: number },
  shown: number | undefined,
): void {
  const atEnd = useRef(true)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const onScroll = (): void => void (atEnd.current = element.scrollWidth - element.scrollLeft - element.clientWidth < 40)
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => element.removeEventListener('scroll', onScroll)
  }, [box])
  // Before the next scroll event, which would otherwise find the old place in the new width.
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    if (shown === undefined) {
      if (atEnd.current) element.scrollLeft = element.scrollWidth
      return
    }
    const { scrollLeft, clientWidth } = element
    if (shown < scrollLeft + 40 || shown > scrollLeft + clientWidth - 40) element.scrollLeft = shown - clientWidth / 2
  }, [box, widths.drawing, widths.box, shown])
}

function summary(timeline: Timeline): string {
  const first = timeline.commits[0]
  if (!first) return ''
  const span = formatDuration(timeline.lastAt - first.at)
  return `${timeline.lastSeq} events in ${timeline.commits.length} commits over ${span}, from ${formatTime(first.at)}`
}
