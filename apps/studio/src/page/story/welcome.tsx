import { HeartPulse } from 'lucide-react'
import { useId } from 'react'
import type { Phrase } from '../../info.ts'
import type { AgentChoice } from '../session/use-agents.ts'

interface WelcomeProps {
  readonly agents: AgentChoice | undefined
  readonly phrases: readonly Phrase[]
  /** Starts a run and kills its server during it. Absent if no server may be killed. */
  readonly onCrash: (() => void) | undefined
  readonly onSend: (text: string) => void
}

/** First screen: one click shows the purpose of the project. */
export function Welcome({ agents, phrases, onCrash, onSend }: WelcomeProps) {
  return (
    <div className="py-8">
      <h3 className="text-3xl font-semibold tracking-tight text-balance">A run that holds.</h3>
      <p className="mt-3 max-w-prose text-ink-soft">
        {onCrash
          ? 'Kill the server in the middle of a tool, and watch: the run goes on where it was, and nothing happens twice.'
          : 'Every answer, tool and decision of this agent stands in a log. Go back to any moment of it, and on from there.'}
      </p>
      {agents && <AgentSelect {...agents} />}
      {onCrash && (
        <button type="button" className="button button-accent mt-5 px-5 py-2.5 text-base" onClick={onCrash}>
          <HeartPulse className="size-5" aria-hidden="true" />
          Crash a run
        </button>
      )}
      {phrases.length > 0 && (
        <>
          <h4 className="label mt-10 mb-2">Or begin with one of these</h4>
          <ul className="grid gap-2 sm:grid-cols-2" data-testid="phrases">
            {phrases.map(({ say, see }) => (
              <li key={say} className="grid">
                <button
                  type="button"
                  onClick={() => onSend(say)}
                  className="flex flex-col rounded-lg border border-line bg-surface px-4 py-2.5 text-left transition-colors hover:border-accent"
                >
                  <span className="block font-medium">{say}</span>
                  <span className="block text-sm text-ink-soft">{see}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}

function AgentSelect({ list, chosen, onChoose }: AgentChoice) {
  const description = useId()
  return (
    <div className="mt-5">
      <label className="flex items-center gap-3 font-medium">
        Agent
        <select className="field w-auto" aria-describedby={description} value={chosen} onChange={(event) => onChoose(event.target.value)}>
          {list.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      </label>
      <p id={description} className="mt-1 max-w-prose text-sm text-ink-soft">
        {list.find(({ id }) => id === chosen)?.description}
      </p>
    </div>
  )
}
