import type { ToolCallView } from '@bowline/agent-loop/events'
import { useId } from 'react'
import type { RefObject } from 'react'
import { JsonText } from '../parts/json-text.tsx'
import type { RecoveryChoice } from './recovery-choices.ts'

interface RecordDialogProps {
  readonly ref: RefObject<HTMLDialogElement | null>
  readonly call: ToolCallView
  readonly label: string
  readonly choice: RecoveryChoice
  readonly text: string
  readonly onRecord: () => void
}

/** States what will be recorded. The second click of a double click records nothing. */
export function RecordDialog({ ref, call, label, choice, text, onRecord }: RecordDialogProps) {
  const title = useId()
  const close = (): void => ref.current?.close()
  return (
    <dialog
      ref={ref}
      aria-labelledby={title}
      className="m-auto w-[min(30rem,92vw)] rounded-2xl border border-line bg-surface p-6 text-ink shadow-xl"
    >
      <h3 id={title} className="text-lg font-semibold">
        Record: {choice.name}?
      </h3>
      <div className="mt-3">
        <JsonText label="Arguments" value={call.input} />
      </div>
      <p className="mt-3 text-sm">{choice.record(label)}</p>
      {choice.example !== undefined && <blockquote className="mt-2 border-l-4 border-line pl-3 text-sm break-words">{text}</blockquote>}
      <p className="mt-3 text-sm text-ink-soft">It goes into the log of this session and cannot be taken back.</p>
      <div className="mt-6 flex flex-wrap justify-end gap-2">
        <button type="button" className="button" onClick={close}>
          Go back
        </button>
        <button
          type="button"
          className="button button-danger"
          onClick={(event) => {
            if (event.detail > 1) return
            close()
            onRecord()
          }}
        >
          Record it
        </button>
      </div>
    </dialog>
  )
}
