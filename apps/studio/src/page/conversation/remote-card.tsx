import type { PendingToolCall } from '@bowline/agent-loop/events'
import { Hand } from 'lucide-react'
import { useId, useState } from 'react'
import { JsonText } from '../parts/json-text.tsx'
import { toolLabel } from '../parts/tool-label.ts'
import type { ToolAnswer } from '../session/actions.ts'

interface RemoteCardProps {
  readonly call: PendingToolCall
  readonly onAnswer: (answer: ToolAnswer) => Promise<unknown>
}

/** Card of a tool that runs outside the agent: the user enters its result, as text or JSON. */
export function RemoteCard({ call, onAnswer }: RemoteCardProps) {
  const [text, setText] = useState('')
  const [answering, setAnswering] = useState(false)
  const field = useId()
  const answer = (value: ToolAnswer): void => {
    setAnswering(true)
    void onAnswer(value).finally(() => setAnswering(false))
  }
  const { toolCallId, toolName, input } = call
  return (
    <form
      data-testid="remote"
      className="rounded-b-xl border-t border-line bg-warn-soft px-4 py-3 text-sm"
      onSubmit={(event) => {
        event.preventDefault()
        answer({ toolCallId, output: valueOf(text) })
      }}
    >
      <p className="flex items-center gap-2 font-medium">
        <Hand className="size-4 shrink-0 text-warn" aria-hidden="true" />“{toolLabel(toolName)}” waits for its result from outside.
      </p>
      <div className="mt-2">
        <JsonText label="Arguments" value={input} />
      </div>
      <label htmlFor={field} className="label mt-3 mb-1 block">
        Result, as text or JSON
      </label>
      <textarea
        id={field}
        rows={2}
        required
        className="field font-mono text-xs"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="mt-2 flex gap-2">
        <button type="submit" className="button button-accent" disabled={answering}>
          Give this result
        </button>
        <button
          type="button"
          className="button"
          disabled={answering || text.trim() === ''}
          onClick={() => answer({ toolCallId, error: text })}
        >
          Give it as an error
        </button>
      </div>
    </form>
  )
}

function valueOf(text: string): NonNullable<Extract<ToolAnswer, { output: unknown }>['output']> {
  try {
    return JSON.parse(text) as NonNullable<Extract<ToolAnswer, { output: unknown }>['output']>
  } catch {
    return text
  }
}
