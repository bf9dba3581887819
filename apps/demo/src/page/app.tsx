import { useSession } from '@bowline/client/react'
import { adviceFor } from './conversation/advice.ts'
import { emptyMargins, foldMargins } from './conversation/margins.ts'
import { PageShell } from './page-shell.tsx'
import { killServer } from './session/demo-routes.ts'
import { pageClient } from './session/page-client.ts'
import { useActivity } from './session/use-activity.ts'
import { useConnectionWord } from './session/use-connection-word.ts'
import { useCurrentSession } from './session/use-current-session.ts'
import { useFold } from './session/use-fold.ts'
import { useInfo } from './session/use-info.ts'
import { useSessions } from './sessions/use-sessions.ts'
import { emptyTimeline, foldTimeline } from './timeline/fold.ts'

const marginsFold = { empty: emptyMargins, add: foldMargins }
const timelineFold = { empty: emptyTimeline, add: foldTimeline }

export function App() {
  const { sessionId, addressed, pick, startNew } = useCurrentSession()
  const session = useSession({ client: pageClient, sessionId })
  const { view, connection, error } = session
  const margins = useFold(sessionId, session.events, marginsFold)
  const timeline = useFold(sessionId, session.events, timelineFold)
  const activity = useActivity(sessionId, session, margins, () => pick(sessionId))
  const word = useConnectionWord(connection.state)
  const info = useInfo(word === 'resumed' ? 'resumed' : 'start', sessionId)
  const sessions = useSessions(pageClient, `${sessionId}/${addressed}/${view.status}`)
  // How a turn failed stands below its last message.
  const trouble = error === undefined || error === view.error ? undefined : error
  return (
    <PageShell
      header={{ info, connection: word, onReconnect: () => session.reconnect(), onKill: (delayMs) => killServer(delayMs, sessionId) }}
      sessions={{ sessions, current: sessionId, onPick: pick, onNew: startNew }}
      timeline={timeline}
      conversation={{
        sessionId,
        view,
        margins,
        loading: session.status === 'loading',
        connected: connection.state !== 'waiting' && connection.state !== 'closed',
        sent: activity.sent,
        stopping: activity.stopping,
        trouble: trouble && adviceFor('kind' in trouble ? trouble.kind : trouble.code, trouble.message),
        keyVariable: info?.keyVariable,
        onSend: activity.send,
        onStop: activity.stop,
        onAnswer: (answer) => session.submitToolResults([answer]),
        onResolve: (toolCallId, resolution) => session.resolveTool(toolCallId, resolution),
      }}
    />
  )
}
