import type { ToolCallView } from '@bowline/agent-loop/events'
import { ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { toolLabel } from '../parts/tool-label.ts'
import { formatDuration } from '../parts/duration.ts'
import { JsonText } from '../parts/json-text.tsx'
import { readProgress } from './progress.ts'
import { toolState } from './tool-state.ts'

interface ToolCardProps {
  readonly call: ToolCallView
  readonly progress?: string | undefined
  readonly lost?: boolean
  /** True if it waits for the approval of the user. */
  readonly asked?: boolean
  readonly unreachable?: boolean
  /** Controls for a waiting call. */
  readonly children?: ReactNode
}

export function ToolCard({ call, progress, lost = false, asked = false, unreachable = false, children }: ToolCardProps) {
  const state = toolState(call, { lost, asked, unreachable })
  const Icon = state.icon
  return (
    <article
      data-testid="tool-card"
      data-tool={call.toolName}
      data-state={lost ? 'lost' : call.state}
      data-call={call.toolCallId}
      aria-label={`Tool ${call.label ?? toolLabel(call.toolName)}, ${state.word}`}
      className="min-w-0 rounded-xl border border-line bg-surface"
    >
      <details className="group">
        <summary className="flex list-none items-center gap-2 rounded-xl px-3 py-2 text-sm">
          <ChevronRight className="size-4 shrink-0 text-ink-soft transition-transform group-open:rotate-90" aria-hidden="true" />
          <span className="max-w-3/5 shrink-0 truncate font-medium">{call.label ?? toolLabel(call.toolName)}</span>
          <code className="hidden truncate font-mono text-xs text-ink-soft sm:inline">{shortInput(call.input)}</code>
          <span className={`ml-auto flex shrink-0 items-center gap-1.5 ${state.tone}`}>
            <Icon className={`size-4 ${call.state === 'running' && !unreachable && !lost ? 'animate-spin' : ''}`} aria-hidden="true" />
            {state.word}
          </span>
          {call.durationMs !== undefined && (
            <span className="shrink-0 text-xs text-ink-soft tabular-nums">{formatDuration(call.durationMs)}</span>
          )}
        </summary>
        <div className="space-y-3 border-t border-line px-3 py-3">
          <div className="text-xs text-ink-soft">
            <code className="font-mono">{call.toolName}</code>
            {call.attempt > 1 && <> · started {call.attempt} times under one key</>}
          </div>
          <JsonText label="Arguments" value={call.input} />
          {call.result && <JsonText label="Output" value={outputOf(call.result)} />}
        </div>
      </details>
      {progress !== undefined && progress !== '' && call.state === 'running' && <ProgressBox text={progress} />}
      {children}
    </article>
  )
}

function ProgressBox({ text }: { readonly text: string }) {
  const { lines, done, total } = readProgress(text)
  return (
    <div className="border-t border-line px-3 py-2">
      {done !== undefined && total !== undefined && (
        <div className="mb-2 flex items-center gap-3 text-xs text-ink-soft tabular-nums">
          <div
            role="progressbar"
            aria-label="Progress"
            aria-valuenow={done}
            aria-valuemin={0}
            aria-valuemax={total}
            className="h-1.5 flex-1 overflow-hidden rounded-full bg-sunken"
          >
            <div className="h-full rounded-full bg-accent transition-[width]" style={{ width: `${(done / total) * 100}%` }} />
          </div>
          {done} of {total}
        </div>
      )}
      <pre className="overflow-hidden font-mono text-xs leading-5 text-ink-soft">{lines.join('\n')}</pre>
    </div>
  )
}

function shortInput(input: unknown): string {
  return typeof input === 'object' && input !== null ? Object.values(input).map(String).join(' · ') : String(input)
}

function outputOf(result: NonNullable<ToolCallView['result']>): unknown {
  const { output } = result
  return output.type === 'execution-denied' ? (output.reason ?? 'denied') : output.value
}
