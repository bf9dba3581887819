import type { ApprovalRequest } from '@bowline/agent-loop/events'
import { ShieldQuestion } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { JsonText } from '../parts/json-text.tsx'
import { toolLabel } from '../parts/tool-label.ts'

export interface Decision {
  readonly decision: 'approve' | 'deny'
  /** Arguments with which the call runs instead. */
  readonly input?: unknown
  readonly inputHash: string
}

interface ApprovalCardProps {
  readonly request: ApprovalRequest
  readonly onDecide: (approvalId: string, decision: Decision) => Promise<unknown>
}

/** Shows exactly what the agent wants to do, and takes the decision of the user: `A` approves, `D` denies. */
export function ApprovalCard({ request, onDecide }: ApprovalCardProps) {
  const { approvalId, toolName, input, inputHash, reason, agent, about } = request
  const [edited, setEdited] = useState<string>()
  const [deciding, setDeciding] = useState(false)
  const card = useRef<HTMLDivElement>(null)
  const field = useId()
  const fault = edited === undefined ? undefined : faultOf(edited)
  const decide = (decision: 'approve' | 'deny'): void => {
    if (deciding || (decision === 'approve' && fault !== undefined)) return
    setDeciding(true)
    const changed = decision === 'approve' && edited !== undefined
    void onDecide(approvalId, { decision, inputHash, ...(changed && { input: JSON.parse(edited) as unknown }) }).finally(() =>
      setDeciding(false),
    )
  }
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      // If there are several questions, the keys answer the first one.
      const first = document.querySelector('[data-testid=approval]') === card.current
      if (
        !first ||
        card.current?.closest('fieldset:disabled') ||
        isTyping(event) ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.repeat
      )
        return
      if (event.key.toLowerCase() === 'a') decide('approve')
      if (event.key.toLowerCase() === 'd') decide('deny')
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
  const label = toolLabel(toolName)
  return (
    <div ref={card} data-testid="approval" className="rounded-b-xl border-t border-line bg-warn-soft px-4 py-3 text-sm">
      <p className="flex items-center gap-2 font-medium">
        <ShieldQuestion className="size-4 shrink-0 text-warn" aria-hidden="true" />
        {about === 'budget' ? 'The run has used up its budget. May it spend more?' : `May the agent run “${label}”?`}
      </p>
      {agent.length > 0 && <p className="mt-1 text-ink-soft">Asked by {agent.join(' › ')}.</p>}
      {reason !== undefined && <p className="mt-1 text-ink-soft">{reason}</p>}
      <div className="mt-3">
        {edited === undefined ? (
          <JsonText label="Arguments" value={input} />
        ) : (
          <>
            <label htmlFor={field} className="label mb-1 block">
              Arguments
            </label>
            <textarea
              id={field}
              rows={Math.min(12, edited.split('\n').length + 1)}
              value={edited}
              aria-invalid={fault !== undefined}
              aria-describedby={`${field}-fault`}
              onChange={(event) => setEdited(event.target.value)}
              className="field font-mono text-xs"
            />
            <p id={`${field}-fault`} className="mt-1 text-bad">
              {fault}
            </p>
          </>
        )}
      </div>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <button type="button" className="button button-accent" disabled={deciding || fault !== undefined} onClick={() => decide('approve')}>
          {edited === undefined ? 'Approve' : 'Approve with these'} <kbd aria-hidden="true">A</kbd>
        </button>
        <button type="button" className="button" disabled={deciding} onClick={() => decide('deny')}>
          Deny <kbd aria-hidden="true">D</kbd>
        </button>
        <button
          type="button"
          className="button"
          disabled={deciding}
          onClick={() => setEdited(edited === undefined ? JSON.stringify(input, null, 2) : undefined)}
        >
          {edited === undefined ? 'Edit the arguments' : 'Keep them as they were'}
        </button>
        <span className="text-xs text-ink-soft [fieldset:disabled_&]:hidden">Or type something else: it interrupts the run.</span>
      </div>
    </div>
  )
}

function faultOf(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? `This is no JSON: ${error.message}` : 'This is no JSON.'
  }
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, dialog, [role=dialog], [role=menu]') !== null)
  )
}
