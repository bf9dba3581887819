import { ListTree } from 'lucide-react'
import type { PlanStep } from '../past/moment.ts'

interface PlanTrackProps {
  readonly plan: readonly PlanStep[]
  /** Tools of the active step. Absent if they are not known. */
  readonly tools: readonly string[] | undefined
}

/** Steps of the orchestration: those already taken, and the active one. */
export function PlanTrack({ plan, tools }: PlanTrackProps) {
  const active = plan.at(-1)
  return (
    <div data-testid="plan" className="border-b border-line bg-surface px-4 py-2 text-sm">
      <ol aria-label="Steps" className="flex flex-wrap items-center gap-x-1 gap-y-1.5">
        <li aria-hidden="true">
          <ListTree className="mr-1 size-4 text-ink-soft" />
        </li>
        {plan.map((step) => {
          const isActive = step === active && step.name !== null
          return (
            <li
              key={step.seq}
              title={step.because}
              aria-current={isActive ? 'step' : undefined}
              className={`rounded-full border px-2.5 leading-6 ${isActive ? 'border-transparent bg-accent text-accent-ink font-medium' : 'border-line text-ink-soft'}`}
            >
              {step.name ?? 'done'}
            </li>
          )
        })}
      </ol>
      {tools && active?.name != null && (
        <p className="mt-1 flex flex-wrap gap-y-1 text-xs text-ink-soft">
          <span className="mr-1">Tools of this step:</span>{' '}
          {tools.length === 0
            ? 'none'
            : tools.map((tool) => (
                <code key={tool} className="mr-1 rounded bg-sunken px-1 font-mono">
                  {tool}
                </code>
              ))}
        </p>
      )}
    </div>
  )
}
