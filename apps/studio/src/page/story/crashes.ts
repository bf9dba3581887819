import type { DurableEvent, RunView } from '@bowline/agent-loop/events'
import { entryOf } from '../parts/growing.ts'
import type { Growing } from '../parts/growing.ts'

/** The processes that died in the middle of a run, and what became of its work, under the id of the message that stood last. */
export interface Crashes {
  /** The runtime that wrote the newest commit. */
  readonly owner?: string
  readonly byMessage: Readonly<Record<string, readonly Crash[]>>
  /** The key in `byMessage` of the newest one, while its run goes on. */
  readonly open?: string
  /** Calls of the turn that is under way. */
  readonly calls: readonly string[]
}

export interface Crash {
  readonly runId: string
  /** The number of the event that took up the run. */
  readonly seq: number
  /** The last sign of the process that died. */
  readonly lostAt: number
  readonly backAt: number
  /** The runtime that died, and the one that took up the run, if the log names them. */
  readonly lostOwner?: string
  readonly backOwner?: string
  /** Calls of the turn whose outcome was stored. */
  readonly kept: readonly Call[]
  /** Calls that were started once more under the key that they had. */
  readonly again: readonly Call[]
  /** An answer was being written: the model was asked once more. */
  readonly askedAgain: boolean
  /** Calls with an unknown outcome. They were not started again. */
  readonly unsure: readonly Call[]
  /** How many messages stood in the conversation. */
  readonly messages: number
}

export interface Call {
  readonly toolCallId: string
  readonly name: string
  readonly idempotencyKey?: string
}

export const emptyCrashes: Crashes = { byMessage: {}, calls: [] }

interface Before {
  readonly at: number
  readonly view: RunView
  readonly margins: { readonly lastMessageId?: string }
}

/** `before`: the moment without the event. */
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
      const { toolCallId, toolName, label = toolName, input, idempotencyKey } = event
      if (event.attempt < 2 || event.agent) return crashes
      return change(crashes, (crash) => ({ again: [...crash.again, { toolCallId, name: nameOf(label, input), idempotencyKey }] }))
    }
    case 'awaiting-tools': {
      const unsure = event.pendingToolCalls.filter((call) => call.unknown)
      return change(crashes, (crash) => ({
        unsure: unsure.map(({ toolCallId, toolName, input }) => ({ toolCallId, name: nameOf(labelOf(before.view, toolCallId) ?? toolName, input) })),
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

/** Changes the newest crash, if its turn is still under way. */
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

/** `Weather (Oslo)`: the label with the first argument that is a short text. */
function nameOf(label: string, input: unknown): string {
  const values: readonly unknown[] = typeof input === 'object' && input !== null ? Object.values(input) : []
  const hint = values.find((value) => typeof value === 'string' && value !== '' && value.length <= 30)
  return typeof hint === 'string' ? `${label} (${hint})` : label
}

/** Counts the damage of a crash: outcomes and messages that are gone, and `once` calls that were started twice. */
export function damageOf(crash: Crash, view: RunView, starts: Growing<{ readonly effect: string; readonly count: number }>, decidedByReader: (toolCallId: string) => boolean) {
  const lostCalls = crash.kept.filter(({ toolCallId }) => !view.toolCalls.some((call) => call.toolCallId === toolCallId && call.result))
  const doubled = [...crash.kept, ...crash.again].filter(
    ({ toolCallId }) => {
      const start = entryOf(starts, toolCallId)
      return start?.effect === 'once' && start.count > 1 && !decidedByReader(toolCallId)
    },
  )
  return { lost: lostCalls.length + Math.max(0, crash.messages - view.messages.length), doubled: doubled.length }
}
