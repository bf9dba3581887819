import { isDelta } from '@bowline/agent-loop/events'
import type { AgentEvent, TurnStatus } from '@bowline/agent-loop/events'
import { toolLabel } from '../parts/tool-label.ts'

/** Content of the timeline. Built only from events: the same log gives the same picture, live or after a reload. */
export interface Timeline {
  readonly spans: readonly Span[]
  readonly turns: readonly Turn[]
  /** Times at which data became durable. */
  readonly commits: readonly Commit[]
  readonly gaps: readonly Gap[]
  readonly lastSeq: number
  readonly lastAt: number
}

export interface Span {
  readonly id: string
  readonly lane: 'model' | 'tools' | 'children'
  readonly name: string
  readonly startAt: number
  /** Number of the event that started it. */
  readonly startSeq: number
  /** Absent while it is running. */
  readonly endAt?: number
  readonly outcome?: string
  readonly withdrawn?: true
}

export interface Turn {
  readonly runId: string
  readonly turn: number
  readonly startAt: number
  readonly status: 'running' | TurnStatus
}

export interface Commit {
  readonly at: number
  readonly firstSeq: number
  readonly lastSeq: number
  readonly types: readonly string[]
  /** Id of the runtime that wrote it, if the log contains it. */
  readonly owner?: string
  /** Number of the claim of the run (fencing token). */
  readonly epoch?: number
}

/** Time between the last event of a dead process and the first event of the one that took over. */
export interface Gap {
  readonly startAt: number
  readonly endAt: number
}

export const emptyTimeline: Timeline = { spans: [], turns: [], commits: [], gaps: [], lastSeq: 0, lastAt: 0 }

export function foldTimeline(timeline: Timeline, event: AgentEvent): Timeline {
  if (isDelta(event)) return event.at > timeline.lastAt ? { ...timeline, lastAt: event.at } : timeline
  if (event.seq === undefined || event.seq <= timeline.lastSeq) return timeline
  return {
    ...timeline,
    ...change(timeline, event),
    commits: withCommit(timeline.commits, event, event.seq),
    lastSeq: event.seq,
    lastAt: Math.max(timeline.lastAt, event.at),
  }
}

function change(timeline: Timeline, event: AgentEvent): Partial<Timeline> {
  switch (event.type) {
    case 'turn-start':
      return {
        turns: event.resumed
          ? withTurn(timeline.turns, event.runId, 'running')
          : [...timeline.turns, { runId: event.runId, turn: event.turn, startAt: event.at, status: 'running' }],
        ...(event.cause === 'takeover' && crash(timeline, event.at)),
      }
    case 'turn-end':
      return { turns: withTurn(timeline.turns, event.runId, event.status) }
    case 'message-start':
      return { spans: [...timeline.spans, start(event.messageId, 'model', event.model.modelId, event)] }
    case 'message-end':
      return { spans: end(timeline.spans, event.messageId, event.at, event.message.stopReason) }
    case 'message-discarded':
      return { spans: end(timeline.spans, event.messageId, event.at, event.reason, true) }
    case 'tool-execution-start':
      return {
        spans: [
          ...end(timeline.spans, event.toolCallId, event.at, 'lost', true),
          start(event.toolCallId, 'tools', event.label ?? toolLabel(event.toolName), event),
        ],
      }
    case 'tool-execution-end':
      return { spans: end(timeline.spans, event.toolCallId, event.at, event.message.status) }
    case 'child-start':
      return { spans: [...timeline.spans, start(event.childRunId, 'children', event.subagent, event)] }
    case 'child-end':
      return { spans: end(timeline.spans, event.childRunId, event.at, event.status) }
    case 'approval-requested':
      return { spans: [...timeline.spans, start(event.toolCallId, 'tools', `approval of ${toolLabel(event.toolName)}`, event)] }
    case 'approval-resolved':
      return { spans: end(timeline.spans, event.toolCallId, event.at, event.decision) }
    case 'compaction-start':
      return { spans: [...timeline.spans, start(event.compactionId, 'model', 'compaction', event)] }
    case 'compaction-end':
      return { spans: end(timeline.spans, event.compactionId, event.at, event.outcome) }
    case 'awaiting-tools':
      return { spans: withWaiting(timeline.spans, event) }
    default:
      return {}
  }
}

function start(id: string, lane: Span['lane'], name: string, { at, seq = 0 }: AgentEvent): Span {
  return { id, lane, name, startAt: at, startSeq: seq }
}

/** Ends the open span of this id. */
function end(spans: readonly Span[], id: string, endAt: number, outcome: string, withdrawn = false): readonly Span[] {
  const place = spans.findLastIndex((span) => span.id === id && span.endAt === undefined)
  const span = spans[place]
  return span ? spans.with(place, { ...span, endAt, outcome, ...(withdrawn && { withdrawn }) }) : spans
}

function withWaiting(spans: readonly Span[], event: Extract<AgentEvent, { type: 'awaiting-tools' }>): readonly Span[] {
  const waiting = event.pendingToolCalls.filter((call) => !spans.some((span) => span.id === call.toolCallId && span.endAt === undefined))
  return [...spans, ...waiting.map((call) => start(call.toolCallId, 'tools', toolLabel(call.toolName), event))]
}

function withTurn(turns: readonly Turn[], runId: string, status: Turn['status']): readonly Turn[] {
  return turns.map((turn) => (turn.runId === runId ? { ...turn, status } : turn))
}

function crash(timeline: Timeline, endAt: number): Partial<Timeline> {
  return { gaps: [...timeline.gaps, { startAt: timeline.commits.at(-1)?.at ?? endAt, endAt }] }
}

function withCommit(commits: readonly Commit[], event: AgentEvent, seq: number): readonly Commit[] {
  const last = commits.at(-1)
  const mark = 'commit' in event ? event.commit : undefined
  if (mark || !last) {
    const { owner, epoch } = mark ?? {}
    return [
      ...commits,
      {
        at: event.at,
        firstSeq: seq,
        lastSeq: seq,
        types: [event.type],
        ...(owner !== undefined && { owner }),
        ...(epoch !== undefined && { epoch }),
      },
    ]
  }
  return commits.with(-1, { ...last, at: event.at, lastSeq: seq, types: [...last.types, event.type] })
}
