import { ConversationPanel } from './conversation/conversation-panel.tsx'
import type { ConversationProps } from './conversation/conversation-panel.tsx'
import { PageHeader } from './header/page-header.tsx'
import { SessionsPanel } from './sessions/sessions-panel.tsx'
import { TimelinePanel } from './timeline/timeline-panel.tsx'
import type { Timeline } from './timeline/fold.ts'

interface PageShellProps {
  readonly header: Parameters<typeof PageHeader>[0]
  readonly sessions: Parameters<typeof SessionsPanel>[0]
  readonly conversation: ConversationProps
  readonly timeline: Timeline
}

/** The three panels. It holds no state: everything comes in by its properties. */
export function PageShell({ header, sessions, conversation, timeline }: PageShellProps) {
  return (
    <div className="grid h-full grid-cols-1 grid-rows-[auto_minmax(0,1fr)] md:grid-cols-[15rem_minmax(0,1fr)] xl:grid-cols-[16rem_minmax(0,1fr)_22rem]">
      <PageHeader {...header} />
      <SessionsPanel {...sessions} />
      <ConversationPanel key={conversation.sessionId} {...conversation} />
      <div className="hidden min-h-0 xl:grid">
        <TimelinePanel timeline={timeline} />
      </div>
    </div>
  )
}
