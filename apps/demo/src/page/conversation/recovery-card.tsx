import type { ToolCallView } from '@bowline/agent-loop/events'
import { LifeBuoy } from 'lucide-react'
import { useId, useState } from 'react'
import { toolLabel } from '../../tool-labels.ts'
import { formatTime } from '../parts/duration.ts'
import type { Resolution } from '../session/actions.ts'

interface RecoveryCardProps {
  readonly call: ToolCallView
  readonly onResolve: (resolution: Resolution) => Promise<unknown>
}

interface Choice {
  readonly name: string
  readonly meaning: string
  /** The default text of choices that need one. */
  readonly text?: string
  resolution(text: string): Resolution
}

const choices: readonly Choice[] = [
  {
    name: 'It happened',
    meaning: 'You have seen the effect. The text becomes the result of the tool.',
    text: 'Paid. I have checked the account.',
    resolution: (text) => ({ result: text }),
  },
  {
    name: 'It failed',
    meaning: 'You have seen that it did not work. The text becomes its error.',
    text: 'The payment did not go through.',
    resolution: (text) => ({ error: text }),
  },
  {
    name: 'Run it again',
    meaning: 'You are sure that nothing happened. The tool starts once more.',
    resolution: () => ({ runAgain: true }),
  },
  {
    name: 'I do not know',
    meaning: 'The model is told that the outcome is unknown, and goes on from there.',
    resolution: () => ({ unknown: true }),
  },
]

export function RecoveryCard({ call, onResolve }: RecoveryCardProps) {
  const [chosen, setChosen] = useState(0)
  const [texts, setTexts] = useState<readonly string[]>(choices.map((choice) => choice.text ?? ''))
  const [resolving, setResolving] = useState(false)
  const group = useId()
  const choice = choices[chosen] ?? choices[0]
  return (
    <form
      data-testid="recovery"
      className="rounded-b-xl border-t border-line bg-warn-soft px-4 py-3 text-sm"
      onSubmit={(event) => {
        event.preventDefault()
        if (!choice) return
        setResolving(true)
        void onResolve(choice.resolution(texts[chosen] ?? '')).finally(() => setResolving(false))
      }}
    >
      <p className="flex items-center gap-2 font-medium">
        <LifeBuoy className="size-4 text-warn" aria-hidden="true" />
        Did it happen? Only you can find out.
      </p>
      <p className="mt-1 text-ink-soft">
        {call.label ?? toolLabel(call.toolName)} started{call.startedAt === undefined ? '' : ` at ${formatTime(call.startedAt)}`} and the server
        died before it said how it ended. The tool may run only once, so it was not started again.
      </p>
      <fieldset className="mt-3 space-y-2" disabled={resolving}>
        <legend className="sr-only">What became of it</legend>
        {choices.map(({ name, meaning, text }, index) => (
          <div key={name}>
            <label className="flex items-baseline gap-2">
              <input type="radio" name={group} className="accent-accent" checked={index === chosen} onChange={() => setChosen(index)} />
              <span>
                <span className="font-medium">{name}</span> <span className="text-ink-soft">– {meaning}</span>
              </span>
            </label>
            {index === chosen && text !== undefined && (
              <input
                className="field mt-1 ml-6 w-[calc(100%-1.5rem)]"
                aria-label={`${name}: text for the model`}
                value={texts[index]}
                onChange={(event) => setTexts(texts.with(index, event.target.value))}
              />
            )}
          </div>
        ))}
      </fieldset>
      <button type="submit" className="button button-accent mt-3" disabled={resolving}>
        Decide
      </button>
    </form>
  )
}
