import type { Usage } from '@bowline/llm'
import type { BridgeEvent } from '../../agent.ts'
import { bowlineMeta, recordOf } from '../../worker/meta.ts'

/** A parsed `session/update`. */
export interface Update {
  readonly acpId: string
  /** Request of the update; only from workers that use `serveWorker`. */
  readonly requestId?: string
  readonly event?: BridgeEvent
  readonly usage?: Usage
  /** Part of the JSON of an event that is too long for one line. */
  readonly part?: { readonly text: string; readonly last: boolean }
}

/** Parses an update. Updates of irrelevant kinds have neither event nor usage. */
export function readUpdate(params: unknown): Update {
  const { sessionId, update } = recordOf(params)
  const ours = bowlineMeta(params)
  return {
    acpId: String(sessionId),
    ...(typeof ours['requestId'] === 'string' && { requestId: ours['requestId'] }),
    ...ourEvent(ours, recordOf(update)),
  }
}

type Content = Pick<Update, 'event' | 'usage' | 'part'>

function ourEvent(ours: Readonly<Record<string, unknown>>, update: Readonly<Record<string, unknown>>): Content {
  if (typeof ours['event'] === 'object') return { event: ours['event'] as BridgeEvent }
  if (typeof ours['part'] === 'string') return { part: { text: ours['part'], last: ours['last'] === true } }
  return acpContent(update)
}

function acpContent(update: Readonly<Record<string, unknown>>): Content {
  const text = recordOf(update['content'])['text']
  switch (update['sessionUpdate']) {
    case 'agent_message_chunk':
      return typeof text === 'string' && text !== '' ? { event: { type: 'text-delta', delta: text } } : {}
    case 'agent_thought_chunk':
      return progress(text)
    case 'plan':
      return progress(planMessage(update['entries']), planCounts(update['entries']))
    case 'tool_call':
    case 'tool_call_update':
      return progress(toolMessage(update))
    case 'usage_update':
      return Number.isSafeInteger(update['used']) ? { usage: { totalTokens: update['used'] as number } } : {}
    default:
      return {}
  }
}

function progress(message: unknown, counts: object = {}): Content {
  return { event: { type: 'progress', ...(typeof message === 'string' && message !== '' && { message }), ...counts } }
}

function toolMessage(update: Readonly<Record<string, unknown>>): string {
  return [update['title'] ?? update['name'] ?? 'tool call', update['status']].filter((part) => typeof part === 'string').join(': ')
}

function planMessage(entries: unknown): unknown {
  return entriesOf(entries).find((entry) => entry['status'] === 'in_progress')?.['content']
}

function planCounts(entries: unknown): object {
  const all = entriesOf(entries)
  return { progress: all.filter((entry) => entry['status'] === 'completed').length, total: all.length }
}

function entriesOf(entries: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(entries) ? entries.map(recordOf) : []
}
