import type { DemoInfo } from '../../info.ts'
import type { ConnectionWord } from '../session/connection-word.ts'
import { ConnectionBadge } from './connection-badge.tsx'
import { KillButton, killTexts } from './kill-button.tsx'
import { ModelBadge } from './model-badge.tsx'
import { ServerList } from './server-list.tsx'

interface PageHeaderProps {
  readonly info: DemoInfo | undefined
  readonly connection: ConnectionWord
  readonly onReconnect: () => void
  readonly onKill: (delayMs: number) => Promise<void>
}

export function PageHeader({ info, connection, onReconnect, onKill }: PageHeaderProps) {
  return (
    <header className="col-span-full border-b border-line bg-surface">
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2 px-4 py-2.5">
        <h1 className="flex items-center gap-2 font-semibold tracking-tight">
          <img src="./knot.svg" alt="" className="size-6" />
          Bowline
        </h1>
        <ModelBadge info={info} />
        {info?.servers && <ServerList servers={info.servers} />}
        <div className="ml-auto flex items-center gap-4">
          <ConnectionBadge word={connection} onReconnect={onReconnect} />
          {info?.canKill && <KillButton {...killTexts(info.servers)} onKill={onKill} />}
        </div>
      </div>
      {info?.problem && (
        <p role="alert" className="border-t border-line bg-warn-soft px-4 py-2 text-sm text-warn">
          <code className="font-mono font-medium">{info.problem.variable}</code>: {info.problem.message} Until then the offline model
          answers.
        </p>
      )}
    </header>
  )
}
