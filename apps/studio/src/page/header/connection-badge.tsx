import { CircleCheck, CircleDashed, PlugZap, RotateCw } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import type { ConnectionWord } from '../session/connection-word.ts'

const badges: Readonly<Record<ConnectionWord, { readonly icon: LucideIcon; readonly text: string; readonly tone: string }>> = {
  idle: { icon: CircleDashed, text: 'ready', tone: 'text-ink-soft' },
  connected: { icon: CircleCheck, text: 'connected', tone: 'text-good' },
  lost: { icon: PlugZap, text: 'connection lost', tone: 'text-bad' },
  waiting: { icon: RotateCw, text: 'waiting for the server', tone: 'text-warn' },
  resumed: { icon: CircleCheck, text: 'resumed', tone: 'text-good' },
  closed: { icon: PlugZap, text: 'disconnected', tone: 'text-bad' },
}

interface ConnectionBadgeProps {
  readonly word: ConnectionWord
  readonly onReconnect: () => void
}

export function ConnectionBadge({ word, onReconnect }: ConnectionBadgeProps) {
  const { icon: Icon, text, tone } = badges[word]
  return (
    <span data-testid="connection" data-word={word} role="status" className={`flex items-center gap-1.5 text-sm ${tone}`}>
      <Icon className={`size-4 ${word === 'waiting' ? 'animate-spin' : ''}`} aria-hidden="true" />
      {text}
      {word === 'closed' && (
        <button type="button" className="button" onClick={onReconnect}>
          Try again
        </button>
      )}
    </span>
  )
}
