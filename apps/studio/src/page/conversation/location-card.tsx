import type { PendingToolCall } from '@bowline/agent-loop/events'
import { MapPin } from 'lucide-react'
import { useId, useState } from 'react'
import type { ToolAnswer } from '../session/actions.ts'

const places = ['Lighthouse Point', 'Pier 7, Old Harbour', 'The chart room of the Petrel'] as const

interface LocationCardProps {
  readonly call: Pick<PendingToolCall, 'toolCallId'>
  readonly onAnswer: (answer: ToolAnswer) => Promise<unknown>
}

/** Card for the browser tool `get_location`. No data leaves the browser unless the user allows it, and the places are invented. */
export function LocationCard({ call: { toolCallId }, onAnswer }: LocationCardProps) {
  const [place, setPlace] = useState<string>(places[0])
  const [answering, setAnswering] = useState(false)
  const select = useId()
  const answer = (value: ToolAnswer): void => {
    setAnswering(true)
    void onAnswer(value).finally(() => setAnswering(false))
  }
  return (
    <div className="rounded-b-xl border-t border-line bg-warn-soft px-4 py-3 text-sm">
      <p className="flex items-center gap-2 font-medium">
        <MapPin className="size-4 text-warn" aria-hidden="true" />
        The agent asks where you are.
      </p>
      <p className="mt-1 text-ink-soft">The run waits in the store for as long as you like. You may reload or come back tomorrow.</p>
      <div className="mt-3 flex flex-wrap items-center gap-2">
        <label htmlFor={select} className="sr-only">
          Place to share
        </label>
        <select id={select} className="field w-auto" value={place} onChange={(event) => setPlace(event.target.value)}>
          {places.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <button
          type="button"
          className="button button-accent"
          disabled={answering}
          onClick={() => answer({ toolCallId, output: { place, shared: 'by the reader' } })}
        >
          Share this place
        </button>
        <button
          type="button"
          className="button"
          disabled={answering}
          onClick={() => answer({ toolCallId, error: 'The reader keeps the place private.' })}
        >
          Keep it private
        </button>
      </div>
    </div>
  )
}
