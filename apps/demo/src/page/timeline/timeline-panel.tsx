import { useState } from 'react'
import { formatDuration, formatTime } from '../parts/duration.ts'
import type { Timeline } from './fold.ts'
import { useStickToBottom } from '../parts/use-stick-to-bottom.ts'
import { assignTracks } from './lanes.ts'
import { createScale } from './scale.ts'
import { CommitTick, GapBand, SpanBar, TurnLine } from './marks.tsx'

interface TimelinePanelProps {
  readonly timeline: Timeline
}

export function TimelinePanel({ timeline }: TimelinePanelProps) {
  const [details, setDetails] = useState<string>()
  const box = useStickToBottom<HTMLDivElement>(true)
  const model = timeline.spans.filter((span) => span.lane === 'model')
  const tools = timeline.spans.filter((span) => span.lane === 'tools')
  return (
    <section aria-label="Timeline" className="flex min-h-0 flex-col border-line bg-surface xl:border-l">
      <header className="border-b border-line px-4 py-3">
        <h2 className="label">Timeline</h2>
        <div className="mt-2 grid grid-cols-[1fr_1.4fr_3.5rem] gap-3 text-xs text-ink-soft" aria-hidden="true">
          <span>model</span>
          <span>tools</span>
          <span className="text-right">commits</span>
        </div>
      </header>
      <div ref={box} className="min-h-0 flex-1 overflow-y-auto">
        <div className="px-4 py-4">
          {timeline.commits.length === 0 ? (
            <p className="text-sm text-ink-soft">Every model call, tool and commit of this session will be drawn here.</p>
          ) : (
            <Drawing timeline={timeline} model={model} tools={tools} onDetails={setDetails} />
          )}
        </div>
      </div>
      <footer className="min-h-14 border-t border-line px-4 py-2 text-xs text-ink-soft">
        {details ?? <span>{summary(timeline)}</span>}
      </footer>
    </section>
  )
}

interface DrawingProps {
  readonly timeline: Timeline
  readonly model: Timeline['spans']
  readonly tools: Timeline['spans']
  readonly onDetails: (details: string) => void
}

function Drawing({ timeline, model, tools, onDetails }: DrawingProps) {
  const scale = createScale(timeline)
  return (
    <div className="relative grid grid-cols-[1fr_1.4fr_3.5rem] gap-3" style={{ height: scale.height + 32 }}>
      {timeline.turns.map((turn) => (
        <TurnLine key={turn.runId} turn={turn} top={scale.at(turn.startAt)} />
      ))}
      {timeline.gaps.map((gap) => (
        <GapBand key={gap.endAt} gap={gap} scale={scale} />
      ))}
      {[model, tools].map((spans, column) => {
        const { tracks, count } = assignTracks(spans)
        return (
          <div key={column === 0 ? 'model' : 'tools'} className="relative">
            {spans.map((span, index) => (
              <SpanBar
                key={`${span.id}/${index}`}
                span={span}
                scale={scale}
                lastAt={timeline.lastAt}
                track={tracks.get(span) ?? 0}
                tracks={count}
                onDetails={onDetails}
              />
            ))}
          </div>
        )
      })}
      <div className="relative">
        {timeline.commits.map((commit) => (
          <CommitTick key={commit.firstSeq} commit={commit} top={scale.at(commit.at)} onDetails={onDetails} />
        ))}
      </div>
    </div>
  )
}

function summary(timeline: Timeline): string {
  const first = timeline.commits[0]
  if (!first) return 'Nothing yet.'
  const span = formatDuration(timeline.lastAt - first.at)
  return `${timeline.lastSeq} durable events in ${timeline.commits.length} commits over ${span}, from ${formatTime(first.at)}. Point at a mark to read it.`
}
