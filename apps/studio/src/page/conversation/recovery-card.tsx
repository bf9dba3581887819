import type { ToolCallView } from '@bowline/agent-loop/events'
import { LifeBuoy } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { toolLabel } from '../parts/tool-label.ts'
import { formatTime } from '../parts/duration.ts'
import type { Resolution } from '../session/actions.ts'
import { RecordDialog } from './record-dialog.tsx'
import { recoveryChoices } from './recovery-choices.ts'

interface RecoveryCardProps {
  readonly call: ToolCallView
  readonly onResolve: (resolution: Resolution) => Promise<unknown>
}

/** Asks for the outcome of a call. No choice is preselected, and it is recorded only after the dialog has explained it. */
export function RecoveryCard({ call, onResolve }: RecoveryCardProps) {
  const [chosen, setChosen] = useState<string>()
  const [text, setText] = useState('')
  const [resolving, setResolving] = useState(false)
  const dialog = useRef<HTMLDialogElement>(null)
  const group = useId()
  const choice = recoveryChoices.find(({ name }) => name === chosen)
  const label = call.label ?? toolLabel(call.toolName)
  const record = (resolution: Resolution): void => {
    setResolving(true)
    void onResolve(resolution).finally(() => setResolving(false))
  }
  return (
    <div data-testid="recovery" className="rounded-b-xl border-t border-line bg-warn-soft px-4 py-3 text-sm">
      <p className="flex items-center gap-2 font-medium">
        <LifeBuoy className="size-4 shrink-0 text-warn" aria-hidden="true" />
        Did it happen? Only you can find out.
      </p>
      <p className="mt-1 text-ink-soft">
        {label} started{call.startedAt === undefined ? '' : ` at ${formatTime(call.startedAt)}`} and the server died before it said how it
        ended. The tool may run only once, so it was not started again.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          dialog.current?.showModal()
          // Focuses the button to cancel. The arguments come before it and can be scrolled.
          dialog.current?.querySelector('button')?.focus()
        }}
      >
        <fieldset className="mt-3 space-y-2" disabled={resolving}>
          <legend className="sr-only">What became of it</legend>
          {recoveryChoices.map(({ name, meaning, example }) => (
            <div key={name}>
              <label className="flex items-baseline gap-2">
                <input
                  type="radio"
                  name={group}
                  required
                  className="accent-accent"
                  checked={name === chosen}
                  onChange={() => setChosen(name)}
                />
                <span>
                  <span className="font-medium">{name}</span> <span className="text-ink-soft">– {meaning}</span>
                </span>
              </label>
              {name === chosen && example !== undefined && (
                <input
                  className="field mt-1 ml-6 w-[calc(100%-1.5rem)]"
                  aria-label={`${name}: text for the model`}
                  placeholder={`For example: ${example}`}
                  required
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                />
              )}
            </div>
          ))}
        </fieldset>
        <button type="submit" className="button mt-3" disabled={resolving || !choice}>
          Decide …
        </button>
      </form>
      {choice && <RecordDialog ref={dialog} {...{ call, label, choice, text }} onRecord={() => record(choice.resolution(text))} />}
    </div>
  )
}
