import type { ClientEvent } from '@bowline/client'
import { toolLabel } from '../tool-labels.ts'
import type { Screen } from './screen.ts'

const longest = 100

/** Prints an event at once. Skips events that mean nothing to people. */
export function printEvent(screen: Screen, event: ClientEvent): void {
  switch (event.type) {
    case 'reasoning-delta':
      return screen.delta(event.delta, 'dim')
    case 'text-delta':
      return screen.delta(event.delta)
    case 'reasoning-end':
    case 'text-end':
      return screen.endLine()
    case 'message-end':
      return screen.answer(event.message.content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    case 'message-discarded':
      return screen.note(`(withdrawn: ${event.reason})`, 'red')
    case 'retry-start':
      return screen.note(
        `${event.error?.message ?? event.cause} ${event.model ? `${event.model.modelId} takes over.` : `Again in ${(event.delayMs / 1000).toFixed(1)} s.`}`,
        'yellow',
      )
    case 'tool-execution-start':
      return screen.note(
        `→ ${toolLabel(event.toolName)} ${short(event.input)}${event.attempt > 1 ? ` (attempt ${event.attempt})` : ''}`,
        'cyan',
      )
    case 'tool-execution-delta':
      return screen.progress(`  ${lastLine(event.delta)}`)
    case 'tool-execution-end': {
      const { status, toolName, output } = event.message
      const isResult = status === 'result'
      return screen.note(
        `${isResult ? '✓' : '✗'} ${toolLabel(toolName)}${isResult ? '' : ` (${status})`} ${short('value' in output ? output.value : (output.reason ?? ''))}`,
        isResult ? 'green' : 'red',
      )
    }
    case 'child-start':
      return screen.note(`  ${event.subagent} begins`, 'magenta')
    case 'child-update':
      return screen.progress(`  ${event.toolNames.length > 0 ? event.toolNames.join(', ') : lastLine(event.text ?? '')}`)
    case 'child-end':
      return screen.note(`  it has ended: ${event.status}`, 'magenta')
    case 'runtime-input':
      return screen.note(event.source === 'notify' ? '(a background task has ended)' : `(${event.source})`)
    case 'orchestration-step':
      return screen.note(`step ${event.name ?? 'none'}`, 'blue')
    case 'compaction-end':
      return screen.note(compacted(event))
    case 'turn-end':
      return event.status === 'completed' || event.status.startsWith('awaiting')
        ? screen.endLine()
        : screen.note(`(${event.status}${event.error ? `: ${event.error.message}` : ''})`, 'yellow')
    case 'error':
      return screen.note(event.message, 'red')
    default:
      return undefined
  }
}

function compacted({ outcome, compaction, reason }: Extract<ClientEvent, { type: 'compaction-end' }>): string {
  if (!compaction) return `The context was not summarised: ${reason ?? outcome}`
  return `The context was summarised: ${compaction.tokensBefore} → ${compaction.tokensAfter} tokens`
}

/** Returns JSON or text on one line, shortened. */
export function short(value: unknown): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).replaceAll(/\s+/g, ' ')
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`
}

function lastLine(text: string): string {
  return short(text.trimEnd().split('\n').at(-1) ?? '')
}
