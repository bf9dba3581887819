import { useState } from 'react'
import { Announcer } from './announce/announcer.tsx'
import { ConversationPanel } from './conversation/conversation-panel.tsx'
import type { ConversationProps } from './conversation/conversation-panel.tsx'
import { PageHeader } from './header/page-header.tsx'
import { PanelSwitch } from './header/panel-switch.tsx'
import type { PanelName } from './header/panel-switch.tsx'
import { InspectorPanel } from './inspector/inspector-panel.tsx'
import { Scrubber } from './past/scrubber.tsx'
import { Guarded } from './parts/guarded.tsx'
import { useSteady } from './parts/use-steady.ts'
import { SessionsPanel } from './sessions/sessions-panel.tsx'
import { light } from './timeline/light.ts'
import { TimelinePanel } from './timeline/timeline-panel.tsx'

interface PageShellProps {
  readonly header: Parameters<typeof PageHeader>[0]
  readonly sessions: Parameters<typeof SessionsPanel>[0]
  readonly conversation: ConversationProps
  readonly announcer: Parameters<typeof Announcer>[0]
  readonly timeline: Omit<Parameters<typeof TimelinePanel>[0], 'onLight' | 'children'>
  readonly scrubber: Parameters<typeof Scrubber>[0]
  readonly inspector: Parameters<typeof InspectorPanel>[0]
}

/**
 * Panels of the page: next to each other in a wide window, with the timeline below. In a narrower one, the inspector and the
 * timeline replace the conversation; on a phone, the sessions too. A hidden panel keeps its state.
 */
export function PageShell({ header, sessions, conversation, announcer, timeline, scrubber, inspector }: PageShellProps) {
  const [panel, setPanel] = useState<PanelName>('conversation')
  const { onPick, onNew } = sessions
  const { sessionId } = conversation
  const andShow =
    <Args extends readonly unknown[]>(action: (...args: Args) => void) =>
    (...args: Args): void => {
      action(...args)
      setPanel('conversation')
    }
  const steady = useSteady({ pick: andShow(onPick), startNew: andShow(onNew), pickInspected: andShow(inspector.onPick) })
  const where = (name: PanelName, from: string): string => (panel === name ? 'grid' : `hidden ${from}`)
  return (
    <div className="grid h-full grid-cols-1 grid-rows-[auto_auto_minmax(0,1fr)] md:grid-cols-[15rem_minmax(0,1fr)] xl:grid-cols-[16rem_minmax(0,1fr)_24rem] xl:grid-rows-[auto_minmax(0,1fr)_auto] 2xl:grid-cols-[18rem_minmax(0,1fr)_28rem]">
      <PageHeader {...header} />
      <PanelSwitch shown={panel} onShow={setPanel} />
      <main className="contents">
        <div className={`min-h-0 min-w-0 grid-cols-1 ${where('sessions', 'md:grid')}`}>
          <Guarded name="sessions">
            <SessionsPanel {...sessions} onPick={steady.pick} onNew={steady.startNew} />
          </Guarded>
        </div>
        <div
          className={`min-h-0 min-w-0 grid-cols-1 ${panel === 'conversation' ? 'grid' : panel === 'sessions' ? 'hidden md:grid' : 'hidden xl:grid'}`}
        >
          <Guarded name="conversation" key={sessionId}>
            <ConversationPanel {...conversation} />
          </Guarded>
        </div>
        <div className={`min-h-0 min-w-0 grid-cols-1 ${where('inspector', 'xl:grid')}`}>
          <Guarded name="inspector">
            <InspectorPanel {...inspector} onPick={steady.pickInspected} />
          </Guarded>
        </div>
        <div className={`min-h-0 min-w-0 grid-cols-1 xl:col-span-3 xl:max-h-72 ${where('timeline', 'xl:grid')}`}>
          <Guarded name="timeline">
            <TimelinePanel {...timeline} onLight={light}>
              <Scrubber {...scrubber} />
            </TimelinePanel>
          </Guarded>
        </div>
        {/* Outside the panels, because screen readers ignore hidden elements. */}
        <Announcer key={sessionId} {...announcer} />
      </main>
    </div>
  )
}
