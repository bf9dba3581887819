import type { DurableEvent } from '@bowline/agent-loop/events'
import { ChevronDown, GitFork, Pause, Play, SkipBack, SkipForward, StepBack, StepForward } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { memo, useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { formatTime } from '../parts/duration.ts'
import { jump } from './jump.ts'
import type { JumpTarget } from './jump.ts'

interface ScrubberProps {
  readonly log: readonly DurableEvent[]
  /** Number of shown events. Absent in the present, which grows. */
  readonly shown: number | undefined
  readonly onShow: (count: number | undefined) => void
  /** Absent if no session may be started. */
  readonly onFork: (() => void) | undefined
}

const playMs = 350
const targets: readonly { readonly target: JumpTarget; readonly text: string }[] = [
  { target: 'commit', text: 'Next commit' },
  { target: 'tool', text: 'Next tool event' },
  { target: 'error', text: 'Next error' },
  { target: 'crash', text: 'Next crash' },
]

/** Moves back to any event of the log, and forward again. */
export const Scrubber = memo(function Scrubber({ log, shown, onShow, onFork }: ScrubberProps) {
  const [playing, setPlaying] = useState(false)
  const at = Math.min(shown ?? log.length, log.length)
  const event = log[at - 1]
  const show = (count: number): void => onShow(Math.max(1, Math.min(log.length, count)))
  useEffect(() => {
    if (!playing) return
    const timer = setTimeout(() => {
      if (at >= log.length) {
        setPlaying(false)
        onShow(undefined)
      } else onShow(at + 1)
    }, playMs)
    return () => clearTimeout(timer)
  }, [playing, at, log.length, onShow])
  if (log.length === 0) return null
  return (
    <div
      role="group"
      aria-label="Time travel"
      data-testid="scrubber"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-4 py-1.5 text-sm"
    >
      <div className="flex items-center">
        <StepButton label="First event" onClick={() => show(1)} icon={<SkipBack />} />
        <StepButton label="Event before" onClick={() => show(at - 1)} icon={<StepBack />} />
        <StepButton
          label={playing ? 'Pause' : 'Play'}
          icon={playing ? <Pause /> : <Play />}
          onClick={() => {
            if (!playing && at >= log.length) onShow(1)
            setPlaying(!playing)
          }}
        />
        <StepButton label="Event after" onClick={() => show(at + 1)} icon={<StepForward />} />
        <StepButton label="Now" onClick={() => onShow(undefined)} icon={<SkipForward />} />
      </div>
      <input
        type="range"
        aria-label="Event"
        aria-valuetext={event ? describe(event, at, log.length) : undefined}
        min={1}
        max={log.length}
        value={at}
        className="min-w-32 flex-1 accent-accent"
        onChange={(change) => show(Number(change.target.value))}
      />
      <JumpMenu {...{ log, at }} onJump={show} />
      <span
        data-testid="shown-event"
        className="order-last w-full truncate text-xs text-ink-soft tabular-nums sm:order-none sm:w-auto sm:max-w-72"
      >
        {event && describe(event, at, log.length)}
      </span>
      {shown !== undefined && onFork && (
        <button type="button" className="button" onClick={onFork}>
          <GitFork className="size-4" aria-hidden="true" />
          Fork from here
        </button>
      )}
    </div>
  )
})

function StepButton({ label, icon, onClick }: { readonly label: string; readonly icon: ReactNode; readonly onClick: () => void }) {
  return (
    <button type="button" aria-label={label} title={label} onClick={onClick} className="rounded-md p-1.5 hover:bg-sunken [&_svg]:size-4">
      {icon}
    </button>
  )
}

function JumpMenu({
  log,
  at,
  onJump,
}: {
  readonly log: readonly DurableEvent[]
  readonly at: number
  readonly onJump: (count: number) => void
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className="button py-1">
        Jump
        <ChevronDown className="size-3.5" aria-hidden="true" />
      </DropdownMenu.Trigger>
      {/* Rendered in place and not modal: the rest of the page stays accessible, and it stays in its landmark. */}
      <DropdownMenu.Content side="top" align="end" className="menu">
        {targets.map(({ target, text }) => {
          const count = jump(log, at, target)
          return (
            <DropdownMenu.Item
              key={target}
              disabled={count === undefined}
              onSelect={() => count !== undefined && onJump(count)}
              className="menu-item"
            >
              {text}
            </DropdownMenu.Item>
          )
        })}
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  )
}

function describe(event: DurableEvent, at: number, total: number): string {
  return `${at} of ${total} · ${event.type} · ${formatTime(event.at)}`
}
