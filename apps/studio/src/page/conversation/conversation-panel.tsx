import { createContext, useCallback, useContext, useEffect } from 'react'
import { isEnded, toolCallOf } from '@bowline/agent-loop/events'
import type { RunView, ViewMessage } from '@bowline/agent-loop/events'
import { StickToBottom, useStickToBottomContext } from 'use-stick-to-bottom'
import { History as HistoryIcon } from 'lucide-react'
import type { Phrase, ServerInfo } from '../../info.ts'
import { entryOf } from '../parts/growing.ts'
import type { Moment } from '../past/moment.ts'
import { sumSpent } from '../past/spending.ts'
import type { AgentChoice } from '../session/use-agents.ts'
import type { Resolution, ToolAnswer } from '../session/actions.ts'
import type { Delivery, SentInput } from '../session/use-activity.ts'
import { damageOf } from '../story/crashes.ts'
import { CrashNote } from '../story/crash-note.tsx'
import { Welcome } from '../story/welcome.tsx'
import type { Timeline } from '../timeline/fold.ts'
import type { Advice } from './advice.ts'
import { ApprovalCard } from './approval-card.tsx'
import type { Decision } from './approval-card.tsx'
import { CallCard } from './call-card.tsx'
import type { ChildActions } from './child-card.tsx'
import { CompactionNote } from './compaction-note.tsx'
import { Composer } from './composer.tsx'
import { EntryList } from './entry-list.tsx'
import { Answer, Notice, OpenAnswer, UserBubble, Waiting } from './messages.tsx'
import { Permitted } from './permitted.tsx'
import { PendingInputs, WithdrawnInputs } from './pending-inputs.tsx'
import { PlanTrack } from './plan-track.tsx'
import { RetryList } from './retry-list.tsx'
import { describeSpent } from './spend-line.tsx'
import { AdviceBox, TurnNoteLine } from './turn-note.tsx'

export interface ConversationActions {
  /** Reasons why actions are disabled: `write` for those that change the session, `decide` for those that decide for a person. */
  readonly denied: { readonly write?: string; readonly decide?: string }
  readonly onSend: (text: string, delivery: Delivery) => Promise<boolean>
  readonly onStop: () => void
  readonly onAnswer: (answer: ToolAnswer) => Promise<unknown>
  readonly onResolve: (toolCallId: string, resolution: Resolution) => Promise<unknown>
  readonly onDecide: (approvalId: string, decision: Decision) => Promise<unknown>
  /** Forks the session at the message of this id. */
  readonly onFork: (entryId: string) => void
}

export interface ConversationProps {
  readonly sessionId: string
  /** Moment that is shown, present or past. It stays the same object until an event is stored: deltas are in `live`. */
  readonly moment: Moment
  /** View of the moment and the message that is being written. */
  readonly live: RunView
  /** True if the moment is in the past: no action is possible. */
  readonly past: boolean
  readonly onLeavePast: () => void
  readonly timeline: Timeline
  /** True while the log is still being loaded. */
  readonly loading: boolean
  readonly connected: boolean
  /** Inputs that were sent and are not yet in the log. */
  readonly sent: readonly SentInput[]
  readonly stopping: boolean
  readonly trouble: Advice | undefined
  readonly keyVariable: string | undefined
  readonly phrases: readonly Phrase[]
  /** Absent if the server has only one agent. */
  readonly agents: AgentChoice | undefined
  readonly effects: Readonly<Record<string, number>> | undefined
  readonly servers: readonly ServerInfo[] | undefined
  /** Names of the tools that may be used in the current step of the orchestration. */
  readonly planTools: readonly string[] | undefined
  readonly onCrash: (() => void) | undefined
  readonly childActions: (childRunId: string) => ChildActions | undefined
  /** True for the conversation of a subagent. */
  readonly isChild: boolean
  /** True if the token may only read. */
  readonly readOnly: boolean
  /** Absent if no action is possible, or until the rights of the token are known. */
  readonly actions: ConversationActions | undefined
}

const noPhrases: readonly Phrase[] = []

export function ConversationPanel(props: ConversationProps) {
  const {
    moment,
    live,
    past,
    onLeavePast,
    loading,
    connected,
    sent,
    stopping,
    trouble,
    phrases,
    agents,
    planTools,
    onCrash,
    isChild,
    readOnly,
    actions,
  } = props
  const { view, plan } = moment
  const empty = !past && !loading && view.messages.length === 0 && !live.open && view.status === undefined && sent.length === 0
  const busy = sent.length > 0 || (view.status !== undefined && !isEnded(view.status))
  const mayWrite = actions !== undefined && actions.denied.write === undefined
  const send = (text: string): void => void actions?.onSend(text, 'start')
  return (
    <section aria-label="Conversation" className="flex min-h-0 min-w-0 flex-col">
      <h2 className="sr-only">Conversation</h2>
      {plan.length > 0 && <PlanTrack plan={plan} tools={past ? undefined : planTools} />}
      {past && (
        <p data-testid="past" className="flex flex-wrap items-center gap-2 border-b border-line bg-model/10 px-4 py-1.5 text-sm">
          <HistoryIcon className="size-4 text-model" aria-hidden="true" />
          The past, as of event {moment.seq}.
          <button type="button" className="button ml-auto py-0.5" onClick={onLeavePast}>
            Back to now
          </button>
        </p>
      )}
      {empty ? (
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto w-full max-w-3xl px-4" data-status="new" data-testid="conversation">
            <Welcome
              agents={mayWrite ? agents : undefined}
              phrases={mayWrite ? phrases : []}
              onCrash={mayWrite ? onCrash : undefined}
              onSend={send}
            />
            {trouble && <AdviceBox advice={trouble} />}
          </div>
        </div>
      ) : (
        <Talk {...props} />
      )}
      {mayWrite && !past ? (
        <Composer
          {...{ busy, stopping, phrases: empty || busy ? noPhrases : phrases, onSend: actions.onSend, onStop: actions.onStop }}
          asking={view.pendingApprovals.length > 0}
          hint={hintFor(view, connected, busy)}
        />
      ) : (
        <p className="mx-auto min-h-11 w-full max-w-3xl px-4 py-3 text-sm text-ink-soft">
          {past
            ? 'Nothing can be sent into the past. Fork from here to try another way.'
            : isChild
              ? 'This is the work of a subagent. It can be looked at only.'
              : readOnly &&
                (actions?.denied.decide === undefined
                  ? 'Your token may decide, and send nothing: that needs the scope sessions:write.'
                  : 'Your token may read only: nothing can be sent.')}
        </p>
      )}
    </section>
  )
}

/** Messages of a conversation. While they grow, it scrolls with their end. */
function Talk(props: ConversationProps) {
  const { moment, live, past, loading, connected, sent, trouble, timeline, effects, servers, keyVariable, childActions, actions } = props
  const { view, margins } = moment
  const { open } = live
  const render = useCallback(
    (message: ViewMessage) => (
      <Entry {...{ message, moment, past, connected, timeline, effects, servers, keyVariable, childActions, actions }} />
    ),
    [moment, past, connected, timeline, effects, servers, keyVariable, childActions, actions],
  )
  return (
    <StickToBottom className="relative min-h-0 flex-1" resize="instant" initial="instant">
      <StickToBottom.Content className="mx-auto flex w-full max-w-3xl flex-col px-4 py-6" scrollClassName="conversation-scroll">
        <div className="flex flex-col gap-6" data-status={loading ? 'loading' : (view.status ?? 'new')} data-testid="conversation">
          <WithdrawnInputs texts={margins.withdrawn['']} />
          <Progress value={live.progress}>
            <EntryList messages={view.messages} render={render} />
          </Progress>
          {open && (
            <OpenAnswer
              open={open}
              renderCall={(toolCallId) => <Call key={toolCallId} {...{ toolCallId, past, connected, childActions, actions }} view={live} />}
            />
          )}
          {actions &&
            !past &&
            view.pendingApprovals
              .filter(({ toolCallId, path }) => !toolCallOf(view, path[0] ?? toolCallId))
              .map((request) => (
                <Permitted key={request.approvalId} denied={actions.denied.decide}>
                  <ApprovalCard request={request} onDecide={actions.onDecide} />
                </Permitted>
              ))}
          <PendingInputs sent={past ? [] : sent} queued={margins.queued} behind={view.status !== 'queued'} />
          {view.status === 'queued' && !open && <Waiting />}
          {trouble && <AdviceBox advice={trouble} />}
        </div>
      </StickToBottom.Content>
      <div aria-hidden="true" className="pointer-events-none absolute inset-x-0 bottom-0 h-5 bg-linear-to-t from-paper to-transparent" />
      <End />
    </StickToBottom>
  )
}

/** Keeps the end in view when the space for the conversation changes, and offers the way there from elsewhere. */
function End() {
  const { isAtBottom, scrollToBottom, scrollRef, state } = useStickToBottomContext()
  useEffect(() => {
    const box = scrollRef.current
    if (!box) return
    // The library observes only the content. While there is a difference, a scroll event is not taken for scrolling by the user.
    const observer = new ResizeObserver(() => {
      if (!state.isAtBottom) return
      state.resizeDifference = 1
      state.scrollTop = state.calculatedTargetScrollTop
      requestAnimationFrame(() => setTimeout(() => void (state.resizeDifference = 0), 1))
    })
    observer.observe(box)
    return () => observer.disconnect()
  }, [scrollRef, state])
  if (isAtBottom) return null
  return (
    <button type="button" className="button absolute bottom-3 left-1/2 -translate-x-1/2 shadow-md" onClick={() => void scrollToBottom()}>
      To the end
    </button>
  )
}

/** Output so far of the running tools. It is separate from the moment, so that new output renders only the cards again. */
const Progress = createContext<RunView['progress']>({})

interface CallProps extends Pick<ConversationProps, 'past' | 'connected' | 'childActions' | 'actions'> {
  readonly toolCallId: string
  readonly view: RunView
}

function Call({ toolCallId, view, past, connected, childActions, actions }: CallProps) {
  return (
    <CallCard
      {...{ toolCallId, view, connected, childActions }}
      progress={useContext(Progress)[toolCallId]}
      actions={past ? undefined : actions}
    />
  )
}

interface EntryProps extends Pick<
  ConversationProps,
  'moment' | 'past' | 'connected' | 'timeline' | 'effects' | 'servers' | 'keyVariable' | 'childActions' | 'actions'
> {
  readonly message: ViewMessage
}

function Entry({ message, moment, past, connected, timeline, effects, servers, keyVariable, childActions, actions }: EntryProps) {
  const { view, margins, spending, crashes, starts } = moment
  if (message.role === 'tool-result') return null
  const id = message.id ?? ''
  const note = margins.notes[id]
  const retries = margins.retries[id]
  const spent = entryOf(spending.steps, id)
  return (
    <div>
      {message.role === 'assistant' ? (
        <Answer
          message={message}
          renderCall={(toolCallId) => <Call key={toolCallId} {...{ toolCallId, view, past, connected, childActions, actions }} />}
        />
      ) : margins.notices.includes(id) ? (
        <Notice message={message} />
      ) : (
        <UserBubble message={message} steered={margins.steered.includes(id)} />
      )}
      {message.role === 'assistant' && (
        <p className="mt-1.5 flex flex-wrap items-center gap-x-3 text-xs text-ink-soft tabular-nums">
          {spent && <span data-testid="step-spending">{describeSpent(sumSpent([spent]))}</span>}
          {actions && actions.denied.write === undefined && !past && message.content.every((part) => part.type !== 'tool-call') && (
            <button type="button" className="rounded underline-offset-2 hover:underline" onClick={() => actions.onFork(id)}>
              Fork from here
            </button>
          )}
        </p>
      )}
      {retries && <RetryList retries={retries} />}
      {crashes.byMessage[id]?.map((crash) => (
        <CrashNote
          key={crash.seq}
          {...{ crash, timeline, effects, servers }}
          damage={damageOf(crash, view, starts, (toolCallId) => crash.unsure.some((call) => call.toolCallId === toolCallId))}
        />
      ))}
      {margins.compactions[id]?.map((compaction) => (
        <CompactionNote key={compaction.compactionId} compaction={compaction} />
      ))}
      {note && <TurnNoteLine {...{ note, keyVariable }} agents={view.children} />}
      <WithdrawnInputs texts={margins.withdrawn[id]} />
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
      if (view.pendingApprovals.length > 0) return 'The run waits for your decision above. What you type instead interrupts it.'
      return `The run waits for your answer above. ${busyKeys}`
    case 'needs-recovery':
      return `The run waits for your decision above. ${busyKeys}`
    default:
      return busy ? 'On its way to the agent.' : 'Enter sends, Shift+Enter makes a new line.'
  }
}
