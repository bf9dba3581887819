import { isEnded } from '@bowline/agent-loop/events'
import type { RunView, ViewMessage } from '@bowline/agent-loop/events'
import { phrases } from '../../phrases.ts'
import type { Resolution, ToolAnswer } from '../session/actions.ts'
import type { Delivery, SentInput } from '../session/use-activity.ts'
import type { Advice } from './advice.ts'
import { CallCard } from './call-card.tsx'
import { Composer } from './composer.tsx'
import type { Margins } from './margins.ts'
import { Answer, OpenAnswer, UserBubble, Waiting } from './messages.tsx'
import { PendingInputs, WithdrawnInputs } from './pending-inputs.tsx'
import { RetryList } from './retry-list.tsx'
import { AdviceBox, TurnNoteLine } from './turn-note.tsx'
import { useStickToBottom } from '../parts/use-stick-to-bottom.ts'

export interface ConversationProps {
  readonly sessionId: string
  readonly view: RunView
  readonly margins: Margins
  /** What stands in the log is not all here yet. */
  readonly loading: boolean
  readonly connected: boolean
  /** Sent, and not yet in the log. */
  readonly sent: readonly SentInput[]
  readonly stopping: boolean
  readonly trouble: Advice | undefined
  readonly keyVariable: string | undefined
  readonly onSend: (text: string, delivery: Delivery) => Promise<boolean>
  readonly onStop: () => void
  readonly onAnswer: (answer: ToolAnswer) => Promise<unknown>
  readonly onResolve: (toolCallId: string, resolution: Resolution) => Promise<unknown>
}

export function ConversationPanel(props: ConversationProps) {
  const { view, margins, loading, connected, sent, stopping, trouble, keyVariable, onSend, onStop, onAnswer, onResolve } = props
  const empty = !loading && view.messages.length === 0 && !view.open && view.status === undefined && sent.length === 0
  const box = useStickToBottom<HTMLDivElement>(!empty)
  const renderCall = (toolCallId: string) => (
    <CallCard key={toolCallId} {...{ toolCallId, view, connected, onAnswer, onResolve }} />
  )
  const busy = sent.length > 0 || (view.status !== undefined && !isEnded(view.status))
  return (
    <section aria-label="Conversation" className="flex min-h-0 min-w-0 flex-col">
      <h2 className="sr-only">Conversation</h2>
      <div ref={box} className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex w-full max-w-3xl flex-col gap-6 px-4 py-6" data-status={loading ? 'loading' : (view.status ?? 'new')} data-testid="conversation">
          {empty && <Welcome onSend={(text) => void onSend(text, 'start')} />}
          <WithdrawnInputs texts={margins.withdrawn['']} />
          {view.messages.map((message, index) => (
            <Entry key={message.id ?? index} {...{ message, margins, renderCall, keyVariable }} />
          ))}
          {view.open && <OpenAnswer open={view.open} renderCall={renderCall} />}
          <PendingInputs sent={sent} queued={margins.queued} behind={view.status !== 'queued'} />
          {view.status === 'queued' && !view.open && <Waiting />}
          {trouble && <AdviceBox advice={trouble} />}
        </div>
      </div>
      <Composer busy={busy} stopping={stopping} hint={hintFor(view, connected, busy)} onSend={onSend} onStop={onStop} />
    </section>
  )
}

interface EntryProps {
  readonly message: ViewMessage
  readonly margins: Margins
  readonly keyVariable: string | undefined
  readonly renderCall: (toolCallId: string) => React.ReactNode
}

function Entry({ message, margins, keyVariable, renderCall }: EntryProps) {
  if (message.role === 'tool-result') return null
  const id = message.id ?? ''
  const note = margins.notes[id]
  const retries = margins.retries[id]
  return (
    <div>
      {message.role === 'user' ? <UserBubble message={message} steered={margins.steered.includes(id)} /> : <Answer message={message} renderCall={renderCall} />}
      {retries && <RetryList retries={retries} />}
      {note && <TurnNoteLine note={note} keyVariable={keyVariable} />}
      <WithdrawnInputs texts={margins.withdrawn[id]} />
    </div>
  )
}

function Welcome({ onSend }: { readonly onSend: (text: string) => void }) {
  return (
    <div className="py-10">
      <h3 className="text-2xl font-semibold tracking-tight">A run that holds.</h3>
      <p className="mt-2 max-w-prose text-ink-soft">
        Start something, then be unkind to it: reload, close the tab, open a second one, kill the server in the middle of a tool. It
        goes on where it was, and nothing happens twice.
      </p>
      <ul className="mt-6 grid gap-3 sm:grid-cols-2">
        {phrases.map(({ say, see }) => (
          <li key={say} className="grid">
            <button
              type="button"
              onClick={() => onSend(say)}
              className="rounded-xl border border-line bg-surface px-4 py-3 text-left transition-colors hover:border-accent"
            >
              <span className="block font-medium">{say}</span>
              <span className="block text-sm text-ink-soft">{see}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

const busyKeys = 'Enter steers it, before its next step. Ctrl+Shift+Enter queues the next message.'

function hintFor(view: RunView, connected: boolean, busy: boolean): string {
  if (!connected) return 'No contact to the server. The run is safe in the store; the page keeps trying.'
  switch (view.status) {
    case 'queued':
    case 'running':
      return `The agent is at work. ${busyKeys}`
    case 'waiting-for-subagent':
      return `The agent waits for a subagent. ${busyKeys}`
    case 'waiting-for-retry':
      return `The model did not answer. The call is made again in a moment. ${busyKeys}`
    case 'waiting-for-user':
      return `The run waits for your answer above. ${busyKeys}`
    case 'needs-recovery':
      return `The run waits for your decision above. ${busyKeys}`
    default:
      return busy ? 'On its way to the agent.' : 'Enter sends, Shift+Enter makes a new line.'
  }
}
