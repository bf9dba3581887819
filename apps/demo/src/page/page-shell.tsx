import { useState } from 'react'
import { Announcer } from './announce/announcer.tsx'
import { ConversationPanel } from './conversation/conversation-panel.tsx'
import type { ConversationProps } from './conversation/conversation-panel.tsx'
import { PageHeader } from './header/page-header.tsx'
import { PanelSwitch } from './header/panel-switch.tsx'
import type { PanelName } from './header/panel-switch.tsx'
import { SessionsPanel } from './sessions/sessions-panel.tsx'
import { TimelinePanel } from './timeline/timeline-panel.tsx'
import type { Timeline } from './timeline/fold.ts'

interface PageShellProps {
  readonly header: Parameters<typeof PageHeader>[0]
  readonly sessions: Parameters<typeof SessionsPanel>[0]
  readonly conversation: ConversationProps
  readonly timeline: Timeline
}

/**
 * The three panels: side by side on a wide window; on a narrower one the timeline, and on a phone the sessions too, take the
 * place of the conversation. A panel out of sight keeps its state.
 */
export function PageShell({ header, sessions, conversation, timeline }: PageShellProps) {
  const [panel, setPanel] = useState<PanelName>('conversation')
  const { onPick, onNew } = sessions
  const { sessionId, view, margins, loading } = conversation
  const andShow = <Args extends readonly unknown[]>(action: (...args: Args) => void) => (...args: Args): void => {
    action(...args)
    setPanel('conversation')
  }
  return (
    <div className="grid h-full grid-cols-1 grid-rows-[auto_auto_minmax(0,1fr)] md:grid-cols-[15rem_minmax(0,1fr)] xl:grid-cols-[16rem_minmax(0,1fr)_22rem] xl:grid-rows-[auto_minmax(0,1fr)]">
      <PageHeader {...header} />
      <PanelSwitch shown={panel} onShow={setPanel} />
      <main className="contents">
        <div className={`min-h-0 ${panel === 'sessions' ? 'grid' : 'hidden md:grid'}`}>
          <SessionsPanel {...sessions} onPick={andShow(onPick)} onNew={andShow(onNew)} />
        </div>
        <div className={`min-h-0 min-w-0 ${panel === 'conversation' ? 'grid' : panel === 'sessions' ? 'hidden md:grid' : 'hidden xl:grid'}`}>
          <ConversationPanel key={sessionId} {...conversation} />
        </div>
        <div className={`min-h-0 min-w-0 ${panel === 'timeline' ? 'grid' : 'hidden xl:grid'}`}>
          <TimelinePanel timeline={timeline} />
        </div>
        {/* Outside of the panels: what is out of sight is not read out. */}
        <Announcer key={sessionId} {...{ view, margins, loading }} />
      </main>
    </div>
  )
}
