import type { DurableEvent } from '@bowline/agent-loop/events'
import { ClientError } from '@bowline/client'
import type { Scope } from '@bowline/client'
import { useSession } from '@bowline/client/react'
import { Suspense, useCallback, useMemo, useState } from 'react'
import type { PageCommand } from './commands/command-menu.tsx'
import { KeysDialog } from './commands/keys-dialog.tsx'
import { useKeys } from './commands/use-keys.ts'
import { adviceFor } from './conversation/advice.ts'
import type { Advice } from './conversation/advice.ts'
import type { ConversationActions } from './conversation/conversation-panel.tsx'
import { formatCost } from './conversation/spend-line.tsx'
import type { Moment } from './past/moment.ts'
import { sumSpent } from './past/spending.ts'
import { useLog } from './past/use-log.ts'
import { usePast } from './past/use-past.ts'
import { lazily } from './parts/lazily.ts'
import { useSteady } from './parts/use-steady.ts'
import { PageShell } from './page-shell.tsx'
import type { KillRequest } from './header/kill-button.tsx'
import type { Phrase } from '../info.ts'
import { killServer } from './session/host-routes.ts'
import { pageClient } from './session/page-client.ts'
import { useAccess } from './session/use-access.ts'
import { useActivity } from './session/use-activity.ts'
import { useAgents } from './session/use-agents.ts'
import { useChildren } from './session/use-children.ts'
import { useConnectionWord } from './session/use-connection-word.ts'
import { useCurrentSession } from './session/use-current-session.ts'
import { useFold } from './session/use-fold.ts'
import { useInfo } from './session/use-info.ts'
import { useSessionView } from './session/use-session-view.ts'
import { useTheme } from './session/use-theme.ts'
import { useSessions } from './sessions/use-sessions.ts'
import { emptyTimeline, foldTimeline } from './timeline/fold.ts'

const CommandMenu = lazily(async () => (await import('./commands/command-menu.tsx')).CommandMenu)

const noPhrases: readonly Phrase[] = []
const timelineFold = { empty: emptyTimeline, add: foldTimeline }
/** Input of the run that the first screen kills: one tool ends early and its result is kept, the other one is interrupted. */
const crashPhrase = 'what is the weather in Oslo and Lima'

export function App() {
  const current = useCurrentSession()
  const { sessionId, addressed, pick, startNew } = current
  const session = useSession({ client: pageClient, sessionId })
  const { view, connection, error } = session
  const log = useLog(pageClient, sessionId, session.events)
  const past = usePast(sessionId, log, session)
  // If earlier events are loaded later, the timeline is folded again from its beginning.
  const timeline = useFold(`${sessionId}/${log[0]?.seq}`, log, timelineFold)
  const word = useConnectionWord(connection.state)
  const agents = useAgents(pageClient, word === 'resumed' ? 'resumed' : 'start')
  const activity = useActivity(sessionId, session, past.present.margins, { agent: agents?.chosen, onAccepted: () => pick(sessionId) })
  const { info, waiting } = useInfo(`${word === 'resumed' ? 'resumed' : 'start'}/${view.status}`, sessionId)
  const access = useAccess(word === 'resumed' ? 'resumed' : 'start')
  const sessions = useSessions(pageClient, `${sessionId}/${addressed}/${view.status}/${restedAt(log)}`)
  const stored = useSessionView(
    pageClient,
    sessionId,
    past.moment.plan.length > 0 ? `${past.moment.plan.length}/${view.status}` : undefined,
  )
  const findChild = useChildren(pageClient, sessionId, view.children)
  const { theme, next: nextTheme } = useTheme()
  const [menu, setMenu] = useState(false)
  const [keys, setKeys] = useState(false)
  /** Error of deleting a session or stopping a subagent. */
  const [fault, setFault] = useState<Advice>()
  const { show } = past
  const fork = async (entryId: string | undefined): Promise<void> => {
    const forked = await session.fork({ ...(entryId !== undefined && { entryId }) })
    if (forked) pick(forked.id)
  }
  const tell = (error: unknown): void =>
    setFault(error instanceof ClientError ? adviceFor(error.code, error.message) : adviceFor('unknown', String(error)))
  const remove = async (id: string): Promise<void> => {
    try {
      await pageClient.session(id).delete()
      setFault(undefined)
      if (id === sessionId) startNew()
    } catch (error) {
      tell(error)
    }
    sessions.refresh()
  }
  /** Sends an input. If it is not accepted, a kill that was scheduled for it is cancelled. */
  const send: typeof activity.send = async (text, delivery) => {
    const isAccepted = await activity.send(text, delivery)
    if (!isAccepted && info?.canKill) await killServer({ at: null }, sessionId)
    return isAccepted
  }
  const crash = async (): Promise<void> => {
    await killServer({ at: 'after-result' }, sessionId)
    await send(crashPhrase, 'start')
  }
  const isChild = sessionId.includes('~')
  const mayWrite = access?.write === true && !isChild
  const handlers = useSteady<Omit<ConversationActions, 'denied'> & Readonly<Record<string, (...args: never[]) => unknown>>>({
    onSend: send,
    onStop: activity.stop,
    onAnswer: (answer) => session.submitToolResults([answer]),
    onResolve: (toolCallId, resolution) => session.resolveTool(toolCallId, resolution),
    onDecide: (approvalId, { decision, inputHash, input }) =>
      decision === 'deny'
        ? session.deny(approvalId, { inputHash })
        : session.approve(approvalId, {
            inputHash,
            ...(input !== undefined && { input: input as NonNullable<Parameters<typeof session.approve>[1]>['input'] & {} }),
          }),
    onFork: (entryId) => void fork(entryId),
  })
  const actions = useMemo<ConversationActions | undefined>(
    () =>
      access && !isChild
        ? {
            ...handlers,
            denied: {
              ...(!access.write && { write: needsScope('sessions:write') }),
              ...(!access.decide && { decide: needsScope('approvals') }),
            },
          }
        : undefined,
    [handlers, access, isChild],
  )
  const steady = useSteady({
    pick,
    startNew,
    remove,
    nextTheme,
    crash: () => void crash(),
    openMenu: () => setMenu(true),
    reconnect: () => session.reconnect(),
    kill: (request: KillRequest) => killServer(request, sessionId),
    leavePast: () => show(undefined),
    forkHere: () => void fork(lastEntry(past.moment)),
    showEvent: (seq: number) => show(log.findIndex((event) => (event.seq ?? 0) >= seq) + 1 || undefined),
    stopChild: (runId: string) =>
      pageClient
        .session(sessionId)
        .stop({ runId })
        .then(() => setFault(undefined), tell),
    switchTo: (leaf: string) => session.switchTo(leaf),
  })
  const childActions = useCallback(
    (childRunId: string) => {
      const child = findChild(childRunId)
      // Work that was delegated through a bridge has no session here.
      if (child === undefined) return undefined
      return { onOpen: () => steady.pick(child), ...(mayWrite && { onStop: () => steady.stopChild(childRunId) }) }
    },
    [findChild, steady, mayWrite],
  )
  const at = past.shown ?? log.length
  const step = (by: number): void => show(Math.max(1, Math.min(log.length, at + by)))
  const commands: readonly PageCommand[] = [
    { name: 'New session', run: startNew },
    { name: 'Change the colours', run: nextTheme },
    { name: 'Show the keys', keys: '?', run: () => setKeys(true) },
    { name: 'Back to now', keys: 'Escape', run: () => show(undefined) },
    { name: 'Go to the first event', run: () => show(1) },
    ...(mayWrite
      ? [
          { name: 'Fork from here', run: () => void fork(lastEntry(past.moment)) },
          ...(info?.phrases ?? []).map(({ say }) => ({ name: `Say: ${say}`, run: () => void send(say, 'start') })),
        ]
      : []),
    ...sessions.list.slice(0, 20).map(({ sessionId: id, metadata }) => ({
      name: `Open: ${typeof metadata['title'] === 'string' ? metadata['title'] : id} (${id.slice(-6)})`,
      run: () => pick(id),
    })),
  ]
  useKeys({
    'Ctrl+k': () => setMenu(true),
    '?': () => setKeys(true),
    '[': () => step(-1),
    ']': () => step(1),
    Escape: () => show(undefined),
  })
  const { runs } = past.moment.spending
  const total = useMemo(() => sumSpent(runs), [runs])
  // The error of a turn is shown below its last message.
  const trouble = error === undefined || error === view.error ? undefined : error
  return (
    <>
      <PageShell
        header={{
          info,
          theme,
          connection: waiting && word === 'idle' ? 'waiting' : word,
          onTheme: steady.nextTheme,
          onCommands: steady.openMenu,
          onReconnect: steady.reconnect,
          spent:
            total.currency === undefined || total.cost === undefined
              ? undefined
              : `${total.estimated ? '~' : ''}${formatCost(total.cost, total.currency)}`,
          onKill: steady.kill,
        }}
        sessions={{
          sessions: sessions.list,
          current: sessionId,
          onPick: steady.pick,
          onNew: steady.startNew,
          onDelete: access?.delete ? steady.remove : undefined,
        }}
        conversation={{
          sessionId,
          timeline,
          isChild,
          actions,
          readOnly: access?.write === false,
          moment: past.moment,
          live: past.live,
          past: past.shown !== undefined,
          onLeavePast: steady.leavePast,
          loading: session.status === 'loading',
          connected: connection.state !== 'waiting' && connection.state !== 'closed',
          sent: activity.sent,
          stopping: activity.stopping,
          trouble: fault ?? (trouble && adviceFor('kind' in trouble ? trouble.kind : trouble.code, trouble.message)),
          keyVariable: info?.keyVariable,
          phrases: info?.phrases ?? noPhrases,
          agents,
          effects: info?.effects,
          servers: info?.servers,
          planTools: stored?.orchestration?.tools,
          onCrash: info?.canKill ? steady.crash : undefined,
          childActions,
        }}
        announcer={{
          view: past.moment.view,
          margins: past.moment.margins,
          loading: session.status === 'loading' || past.shown !== undefined,
        }}
        timeline={{ timeline, shownAt: past.shown === undefined ? undefined : past.event?.at, onGo: steady.showEvent }}
        scrubber={{ log, shown: past.shown, onShow: show, onFork: mayWrite ? steady.forkHere : undefined }}
        inspector={{
          sessionId,
          log,
          moment: past.moment,
          event: past.event,
          servers: info?.servers,
          onShow: show,
          onPick: steady.pick,
          onSwitch: mayWrite ? steady.switchTo : undefined,
        }}
      />
      <Suspense>{menu && <CommandMenu commands={commands} onClose={() => setMenu(false)} />}</Suspense>
      {keys && <KeysDialog onClose={() => setKeys(false)} />}
    </>
  )
}

function needsScope(scope: Scope): string {
  return `Your token may not do this: it needs the scope ${scope}.`
}

/** Returns the number of the last event if it says that no work is running. */
function restedAt(log: readonly DurableEvent[]): number | undefined {
  const last = log.at(-1)
  return last?.type === 'settled' || last?.type === 'save-point' ? last.seq : undefined
}

/** Returns the id of the newest message after which a branch may begin: not between a call and its result. */
function lastEntry({ view }: Moment): string | undefined {
  return view.messages.findLast(
    (message) => message.role === 'user' || (message.role === 'assistant' && message.content.every((part) => part.type !== 'tool-call')),
  )?.id
}
