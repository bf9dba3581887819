import type { DurableEvent, RunView, ToolEffect } from '@bowline/agent-loop/events'
import { entryOf } from '../parts/growing.ts'
import type { Growing } from '../parts/growing.ts'

/** Processes that died during a run and the effect on its work, by the id of the message that was the last one. */
export interface Crashes {
  /** Runtime that wrote the newest commit. */
  readonly owner?: string
  readonly byMessage: Readonly<Record<string, readonly Crash[]>>
  /** Key in `byMessage` of the newest crash, while its run continues. */
  readonly open?: string
  /** Calls of the current turn. */
  readonly calls: readonly string[]
}

export interface Crash {
  readonly runId: string
  /** Number of the event that resumed the run. */
  readonly seq: number
  /** Time of the last event of the dead process. */
  readonly lostAt: number
  readonly backAt: number
  /** Runtime that died and runtime that took over, if the log names them. */
  readonly lostOwner?: string
  readonly backOwner?: string
  /** Calls of the turn whose outcome was stored. */
  readonly kept: readonly Call[]
  /** Calls that were started again with the same idempotency key. */
  readonly again: readonly Restart[]
  /** True if an answer was being written: the model was called again. */
  readonly askedAgain: boolean
  /** Calls with an unknown outcome. They start again only if a reader decides so. */
  readonly unsure: readonly Call[]
  /** Number of messages in the conversation. */
  readonly messages: number
}

export interface Call {
  readonly toolCallId: string
  readonly name: string
}

interface Restart extends Call {
  readonly idempotencyKey: string
  readonly effect: ToolEffect
}

interface Damage {
  readonly lost: number
  readonly doubled: number
}

export const emptyCrashes: Crashes = { byMessage: {}, calls: [] }

interface Before {
  readonly at: number
  readonly view: RunView
  readonly margins: { readonly lastMessageId?: string }
}

/** Returns the crashes after an event. `before` is the moment without the event. */
export function foldCrashes(crashes: Crashes, event: DurableEvent, before: Before): Crashes {
  const next = foldEvent(crashes, event, before)
  const owner = event.commit?.epoch === undefined ? crashes.owner : event.commit.owner
  return owner === next.owner || owner === undefined ? next : { ...next, owner }
}

function foldEvent(crashes: Crashes, event: DurableEvent, before: Before): Crashes {
  switch (event.type) {
    case 'turn-start':
      if (event.agent) return crashes
      if (!event.resumed) return { byMessage: crashes.byMessage, calls: [], ...(crashes.owner !== undefined && { owner: crashes.owner }) }
      return event.cause === 'takeover' ? withCrash(crashes, event, before) : crashes
    case 'message-end': {
      const calls = event.agent ? [] : event.message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
      return calls.length === 0 ? crashes : { ...crashes, calls: [...crashes.calls, ...calls] }
    }
    case 'tool-execution-start': {
      const { toolCallId, toolName, label = toolName, input, idempotencyKey, effect } = event
      if (event.attempt < 2 || event.agent) return crashes
      return change(crashes, (crash) => ({ again: [...crash.again, { toolCallId, name: nameOf(label, input), idempotencyKey, effect }] }))
    }
    case 'awaiting-tools': {
      const unsure = event.pendingToolCalls.filter((call) => call.unknown)
      return change(crashes, (crash) => ({
        unsure: unsure.map(({ toolCallId, toolName, input }) => ({
          toolCallId,
          name: nameOf(labelOf(before.view, toolCallId) ?? toolName, input),
        })),
        ...(unsure.length === 0 && { unsure: crash.unsure }),
      }))
    }
    default:
      return crashes
  }
}

function withCrash(crashes: Crashes, event: Extract<DurableEvent, { type: 'turn-start' }>, { at, view, margins }: Before): Crashes {
  const key = margins.lastMessageId ?? ''
  const crash: Crash = {
    runId: event.runId,
    seq: event.seq ?? 0,
    lostAt: at,
    backAt: event.at,
    ...(crashes.owner !== undefined && { lostOwner: crashes.owner }),
    ...(event.commit?.owner !== undefined && { backOwner: event.commit.owner }),
    kept: view.toolCalls
      .filter(({ toolCallId, result }) => result && crashes.calls.includes(toolCallId))
      .map(({ toolCallId, toolName, label = toolName, input }) => ({ toolCallId, name: nameOf(label, input) })),
    again: [],
    askedAgain: view.open !== undefined,
    unsure: [],
    messages: view.messages.length,
  }
  return { ...crashes, open: key, byMessage: { ...crashes.byMessage, [key]: [...(crashes.byMessage[key] ?? []), crash] } }
}

/** Changes the newest crash if its turn is still running. */
function change(crashes: Crashes, next: (crash: Crash) => Partial<Crash>): Crashes {
  const { open, byMessage } = crashes
  const list = open === undefined ? undefined : byMessage[open]
  const last = list?.at(-1)
  if (open === undefined || !list || !last) return crashes
  return { ...crashes, byMessage: { ...byMessage, [open]: list.with(-1, { ...last, ...next(last) }) } }
}

function labelOf(view: RunView, toolCallId: string): string | undefined {
  return view.toolCalls.find((call) => call.toolCallId === toolCallId)?.label
}

/** Returns the label with the first argument that is a short text: `Weather (Oslo)`. */
function nameOf(label: string, input: unknown): string {
  const values: readonly unknown[] = typeof input === 'object' && input !== null ? Object.values(input) : []
  const hint = values.find((value) => typeof value === 'string' && value !== '' && value.length <= 30)
  return typeof hint === 'string' ? `${label} (${hint})` : label
}

/** Counts the damage of a crash: lost outcomes and messages, and `once` calls that were started twice. */
export function damageOf(
  crash: Crash,
  view: RunView,
  starts: Growing<{ readonly effect: string; readonly count: number }>,
  decidedByReader: (toolCallId: string) => boolean,
): Damage {
  const lostCalls = crash.kept.filter(({ toolCallId }) => !view.toolCalls.some((call) => call.toolCallId === toolCallId && call.result))
  const doubled = [...crash.kept, ...crash.again].filter(({ toolCallId }) => {
    const start = entryOf(starts, toolCallId)
    return start?.effect === 'once' && start.count > 1 && !decidedByReader(toolCallId)
  })
  return { lost: lostCalls.length + Math.max(0, crash.messages - view.messages.length), doubled: doubled.length }
}

/**
 * Returns what is certain about repetition. Returns undefined after damage, or if a `once` call ran again because a reader
 * decided so: its effect may have happened before.
 */
export function claimOf({ again }: Pick<Crash, 'again'>, { lost, doubled }: Damage): string | undefined {
  if (lost + doubled > 0 || again.some(({ effect }) => effect === 'once')) return undefined
  return again.length === 0 ? 'No tool ran twice.' : 'No effect happened twice.'
}
