import { isEnded } from '@bowline/agent-loop/events'
import type { ChildView } from '@bowline/agent-loop/events'
import { Ban, Bot, CircleCheck, CircleX, LoaderCircle, Pause } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import { useState } from 'react'
import { speakable } from '../announce/speakable.ts'

/** Actions on the work of a subagent that has its own conversation. */
export interface ChildActions {
  readonly onOpen: () => void
  /** Absent if no action is allowed. */
  readonly onStop?: () => Promise<unknown>
}

interface ChildCardProps {
  readonly child: ChildView
  readonly actions?: ChildActions | undefined
}

interface Look {
  readonly icon: LucideIcon
  readonly word: string
  readonly tone: string
}

function lookOf({ status, outcome, taskId }: ChildView): Look {
  if (status === 'running' || status === 'queued')
    return { icon: LoaderCircle, word: taskId === undefined ? 'at work' : 'at work in the background', tone: 'text-model' }
  if (status === 'completed') return { icon: CircleCheck, word: 'done', tone: 'text-good' }
  if (status === 'stopped') return { icon: Ban, word: 'stopped', tone: 'text-ink-soft' }
  if (status === 'failed') return { icon: CircleX, word: outcome === 'limit' ? 'ended at a limit' : 'failed', tone: 'text-bad' }
  return { icon: Pause, word: status.replaceAll('-', ' '), tone: 'text-warn' }
}

/** Card for the work of another agent for this run. */
export function ChildCard({ child, actions }: ChildCardProps) {
  const [stopping, setStopping] = useState(false)
  const onStop = isEnded(child.status) ? undefined : actions?.onStop
  const stop = (): void => {
    setStopping(true)
    void onStop?.().finally(() => setStopping(false))
  }
  const { icon: Icon, word, tone } = lookOf(child)
  const { subagent, description, step, text, toolNames } = child
  return (
    <div data-testid="child-card" data-status={child.status} className="border-t border-line px-4 py-3 text-sm">
      <div className="flex items-center gap-2">
        <Bot className="size-4 shrink-0 text-ink-soft" aria-hidden="true" />
        <span className="truncate font-medium">{subagent}</span>
        <span className={`ml-auto flex shrink-0 items-center gap-1.5 ${tone}`}>
          <Icon className={`size-4 ${child.status === 'running' ? 'animate-spin' : ''}`} aria-hidden="true" />
          {word}
        </span>
      </div>
      {description !== undefined && <p className="mt-1 text-ink-soft">{description}</p>}
      {step > 0 && (
        <p className="mt-1 text-xs text-ink-soft">
          Step {step}
          {toolNames.length > 0 && <> · {toolNames.join(', ')}</>}
        </p>
      )}
      {text !== undefined && text !== '' && <p className="mt-2 line-clamp-3 text-ink-soft">{speakable(text)}</p>}
      {actions && (
        <div className="mt-2 flex gap-2">
          <button type="button" className="button" onClick={actions.onOpen}>
            Open its conversation
          </button>
          {onStop && (
            <button type="button" className="button" disabled={stopping} onClick={stop}>
              {stopping ? 'Stopping …' : `Stop ${subagent}`}
            </button>
          )}
        </div>
      )}
    </div>
  )
}
