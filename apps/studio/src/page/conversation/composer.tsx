import { ArrowUp, Square } from 'lucide-react'
import { memo, useId, useRef, useState } from 'react'
import type { Phrase } from '../../info.ts'
import type { Delivery } from '../session/use-activity.ts'

interface ComposerProps {
  /** True if a run is open: it can be stopped, and an input steers it or waits for its end. */
  readonly busy: boolean
  readonly stopping: boolean
  /** True if the run waits for an approval: a new input interrupts it. */
  readonly asking: boolean
  /** Phrases offered above the field. */
  readonly phrases: readonly Phrase[]
  readonly hint: string
  /** Sends an input. Resolves with false if it was not accepted: the text is then put back. */
  readonly onSend: (text: string, delivery: Delivery) => Promise<boolean>
  readonly onStop: () => void
}

export const Composer = memo(function Composer({ busy, stopping, asking, phrases, hint, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const hintId = useId()
  const send = (message: string, whenBusy: Delivery = 'steer'): void => {
    if (message.trim() === '') return
    setText('')
    field.current?.focus()
    void onSend(message.trim(), busy ? (asking ? 'interrupt' : whenBusy) : 'start').then((accepted) => {
      if (!accepted) setText((typed) => typed || message)
    })
  }
  return (
    <form
      className="mx-auto w-full max-w-3xl px-4 pb-4"
      onSubmit={(event) => {
        event.preventDefault()
        send(text)
      }}
    >
      {phrases.length > 0 && (
        <div
          className="mb-2 flex gap-1.5 overflow-x-auto pt-1 sm:max-h-20 sm:flex-wrap sm:overflow-y-auto"
          role="group"
          aria-label="Things to try"
        >
          {phrases.map(({ say, see }) => (
            <button
              key={say}
              type="button"
              title={see}
              onClick={() => send(say)}
              className="shrink-0 rounded-full border border-line bg-surface px-3 py-1 text-xs whitespace-nowrap text-ink-soft transition-colors hover:border-accent hover:text-ink"
            >
              {say}
            </button>
          ))}
        </div>
      )}
      <div className="flex items-end gap-2 rounded-2xl border border-line bg-surface p-2 shadow-sm focus-within:border-accent">
        <textarea
          ref={field}
          aria-label="Message"
          rows={Math.min(6, text.split('\n').length)}
          value={text}
          placeholder={asking ? 'Say something else instead' : busy ? 'Steer the run' : 'Say something to the agent'}
          aria-describedby={hintId}
          className="max-h-48 min-w-0 flex-1 resize-none bg-transparent px-2 py-1.5 outline-none placeholder:truncate"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            const queues = event.shiftKey && (event.ctrlKey || event.metaKey)
            if (event.key !== 'Enter' || (event.shiftKey && !queues) || event.nativeEvent.isComposing) return
            event.preventDefault()
            send(text, queues ? 'queue' : 'steer')
          }}
        />
        {busy && (
          <button type="button" className="button" onClick={onStop} disabled={stopping}>
            <Square className="size-3.5 fill-current" aria-hidden="true" />
            {stopping ? 'Stopping …' : 'Stop'}
          </button>
        )}
        <button type="submit" className="button button-accent" disabled={text.trim() === ''}>
          <ArrowUp className="size-4" aria-hidden="true" />
          {asking ? 'Interrupt' : busy ? 'Steer' : 'Send'}
        </button>
      </div>
      <p className="mt-1.5 px-2 text-xs text-ink-soft">
        <span id={hintId}>{hint}</span>
        {busy && text.trim() !== '' && (
          <button type="button" className="ml-2 text-accent underline underline-offset-2" onClick={() => send(text, 'queue')}>
            Queue it
          </button>
        )}
      </p>
    </form>
  )
})
