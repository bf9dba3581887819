import type { DurableEvent } from '@bowline/agent-loop/events'
import { Tabs } from 'radix-ui'
import { memo, Suspense } from 'react'
import type { ServerInfo } from '../../info.ts'
import { lazily } from '../parts/lazily.ts'
import type { Moment } from '../past/moment.ts'
import { EventTab } from './event-tab.tsx'
import { RequestTab } from './request-tab.tsx'
import { StateTab } from './state-tab.tsx'

const BranchesTab = lazily(async () => (await import('./branches-tab.tsx')).BranchesTab)

interface InspectorPanelProps {
  readonly sessionId: string
  readonly moment: Moment
  readonly log: readonly DurableEvent[]
  /** Last event that `moment` includes. */
  readonly event: DurableEvent | undefined
  readonly servers: readonly ServerInfo[] | undefined
  readonly onShow: (count: number) => void
  /** Absent if the token may only read. */
  readonly onSwitch: ((leaf: string) => Promise<unknown>) | undefined
  readonly onPick: (sessionId: string) => void
}

const tabs = [
  ['state', 'State'],
  ['event', 'Event'],
  ['request', 'Request'],
  ['branches', 'Branches'],
] as const

/** Tabs for the state, the event, the request and the branches at the selected event. */
export const InspectorPanel = memo(function InspectorPanel({
  sessionId,
  moment,
  log,
  event,
  servers,
  onShow,
  onSwitch,
  onPick,
}: InspectorPanelProps) {
  return (
    <section aria-label="Inspector" className="grid min-h-0 min-w-0 grid-cols-1 border-line bg-surface xl:border-l">
      <h2 className="sr-only">Inspector</h2>
      <Tabs.Root defaultValue="state" className="flex min-h-0 flex-col">
        <Tabs.List aria-label="Inspector" className="flex gap-1 border-b border-line px-3 py-1.5">
          {tabs.map(([value, text]) => (
            <Tabs.Trigger
              key={value}
              value={value}
              className="rounded-md px-2.5 py-1 text-sm font-medium text-ink-soft hover:bg-sunken data-[state=active]:bg-accent-soft data-[state=active]:text-ink"
            >
              {text}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value="state" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto p-4">
          <StateTab moment={moment} />
        </Tabs.Content>
        <Tabs.Content value="event" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto">
          <EventTab {...{ log, event, servers, onShow }} />
        </Tabs.Content>
        <Tabs.Content value="request" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto">
          <RequestTab {...{ sessionId, log, event }} />
        </Tabs.Content>
        <Tabs.Content value="branches" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto">
          <Suspense fallback={<p className="p-4 text-sm text-ink-soft">Loading …</p>}>
            <BranchesTab {...{ sessionId, onSwitch, onPick }} seq={moment.seq} />
          </Suspense>
        </Tabs.Content>
      </Tabs.Root>
    </section>
  )
})
