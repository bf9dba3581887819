import { Command, Monitor, Moon, Sun } from 'lucide-react'
import { memo } from 'react'
import type { StudioInfo } from '../../info.ts'
import type { ConnectionWord } from '../session/connection-word.ts'
import type { Theme } from '../session/use-theme.ts'
import { ConnectionBadge } from './connection-badge.tsx'
import { KillButton, killTexts } from './kill-button.tsx'
import type { KillRequest } from './kill-button.tsx'
import { ModelBadge } from './model-badge.tsx'
import { ServerList } from './server-list.tsx'

interface PageHeaderProps {
  readonly info: StudioInfo | undefined
  readonly connection: ConnectionWord
  readonly theme: Theme
  /** Cost of the session, as text. */
  readonly spent: string | undefined
  readonly onTheme: () => void
  readonly onCommands: () => void
  readonly onReconnect: () => void
  readonly onKill: (request: KillRequest) => Promise<void>
}

const themeIcons = { system: Monitor, light: Sun, dark: Moon } as const

export const PageHeader = memo(function PageHeader({
  info,
  connection,
  theme,
  spent,
  onTheme,
  onCommands,
  onReconnect,
  onKill,
}: PageHeaderProps) {
  const ThemeIcon = themeIcons[theme]
  return (
    <header className="col-span-full border-b border-line bg-surface">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 px-4 py-2">
        <h1 className="flex items-center gap-2 font-semibold tracking-tight">
          <img src="./knot.svg" alt="" className="size-6" />
          Bowline
        </h1>
        <ModelBadge info={info} />
        {info?.servers && <ServerList servers={info.servers} />}
        {spent !== undefined && (
          <span
            data-testid="session-spending"
            className="hidden text-sm text-ink-soft tabular-nums lg:inline"
            title={info?.model?.offline ? 'With made-up prices' : 'Of this session'}
          >
            {spent}
            {info?.model?.offline && <span className="text-xs"> (made-up prices)</span>}
          </span>
        )}
        <div className="ml-auto flex items-center gap-2">
          <ConnectionBadge word={connection} onReconnect={onReconnect} />
          {info?.canKill && <KillButton {...killTexts(info.servers)} onKill={onKill} />}
          <button type="button" className="button px-2" aria-label={`Colours: ${theme}`} title={`Colours: ${theme}`} onClick={onTheme}>
            <ThemeIcon className="size-4" aria-hidden="true" />
          </button>
          <button
            type="button"
            className="button px-2"
            aria-label="Commands"
            title="Commands (Ctrl+K)"
            aria-keyshortcuts="Control+K"
            onClick={onCommands}
          >
            <Command className="size-4" aria-hidden="true" />
          </button>
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
})
