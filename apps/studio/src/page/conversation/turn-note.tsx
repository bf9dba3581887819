import type { ChildView } from '@bowline/agent-loop/events'
import { CircleStop, Gauge, ShieldAlert, TriangleAlert } from 'lucide-react'
import { adviceForError } from './advice.ts'
import type { Advice } from './advice.ts'
import type { TurnNote } from './margins.ts'

interface TurnNoteLineProps {
  readonly note: TurnNote
  readonly keyVariable: string | undefined
  /** Agents that the calls of the conversation started. */
  readonly agents: readonly ChildView[]
}

/** Outcome of a turn that was not simply completed. */
export function TurnNoteLine({ note, keyVariable, agents }: TurnNoteLineProps) {
  switch (note.status) {
    case 'aborted':
      return <StopReceiptLine receipt={note.receipt ?? []} agents={agents.filter(({ childRunId }) => note.agents.includes(childRunId))} />
    case 'error':
      return note.error ? <AdviceBox advice={adviceForError(note.error, keyVariable)} /> : null
    case 'limit':
      return (
        <p className="mt-3 flex items-center gap-2 text-sm text-ink-soft">
          <Gauge className="size-4" aria-hidden="true" />
          Ended at a limit: {note.reason}.
        </p>
      )
    case 'halted':
      return (
        <p className="mt-3 flex items-center gap-2 text-sm text-ink-soft">
          <ShieldAlert className="size-4" aria-hidden="true" />
          Halted by a guardrail{note.error ? `: ${note.error.message}` : ''}.
        </p>
      )
    default:
      return null
  }
}

function StopReceiptLine({ receipt, agents }: Pick<TurnNoteLineProps, 'agents'> & { readonly receipt: NonNullable<TurnNote['receipt']> }) {
  return (
    <div data-testid="receipt" className="mt-3 flex flex-wrap items-center gap-2 text-sm text-ink-soft">
      <CircleStop className="size-4" aria-hidden="true" />
      <span>Stopped.</span>
      {receipt.map((call) => (
        <span key={call.toolCallId} className="rounded-full border border-line px-2 text-xs leading-5">
          <code className="font-mono">{call.toolName}</code>: {call.status}
        </span>
      ))}
      {agents.map(({ childRunId, subagent, status }) => (
        <span key={childRunId} className="rounded-full border border-line px-2 text-xs leading-5">
          {subagent}: {status}
        </span>
      ))}
    </div>
  )
}

export function AdviceBox({ advice }: { readonly advice: Advice }) {
  return (
    <div role="alert" className="mt-3 rounded-xl border border-bad/40 bg-bad-soft px-4 py-3 text-sm">
      <p className="flex items-center gap-2 font-medium">
        <TriangleAlert className="size-4 text-bad" aria-hidden="true" />
        {advice.whatToDo}
      </p>
      <p className="mt-1 text-ink-soft">
        <code className="mr-1 rounded bg-surface px-1 font-mono text-xs">{advice.code}</code>
        {advice.message}
      </p>
    </div>
  )
}
