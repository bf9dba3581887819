import type { AgentEvent, DeltaEvent, DurableEvent } from './agent-event.ts'
import { folds } from './folds.ts'

type EventType = AgentEvent['type']

const deltaTypes: Readonly<Record<DeltaEvent['type'], true>> = {
  'text-start': true,
  'text-delta': true,
  'text-end': true,
  'reasoning-start': true,
  'reasoning-delta': true,
  'reasoning-end': true,
  'tool-call-start': true,
  'tool-call-delta': true,
  'tool-call-end': true,
  'content-part': true,
  'output-delta': true,
  'tool-execution-delta': true,
}

/**
 * An event at which a driver may act: `turn-start`, `step-start`, `step-end`. At these, logs that differ only in deltas give equal
 * views.
 */
export type BoundaryEvent = Extract<AgentEvent, { type: 'turn-start' | 'step-start' | 'step-end' }>

/** Returns the type of a value from a stream or a log; empty if the value is no event. */
function typeOf(event: unknown): PropertyKey {
  const type = (event as { readonly type?: unknown } | null | undefined)?.type
  return typeof type === 'string' ? type : ''
}

/** Returns whether an event is live only. The durable event that closes its message or call holds the complete content. */
export function isDelta(event: unknown): event is DeltaEvent {
  return Object.hasOwn(deltaTypes, typeOf(event))
}

/** Returns whether an event was stored by a commit and has a `seq`. False for types that this version does not know. */
export function isDurable(event: unknown): event is DurableEvent {
  return Object.hasOwn(folds, typeOf(event))
}

/**
 * Returns whether an event is a `turn-start`, `step-start` or `step-end`. At these, two logs that differ only in deltas reduce to
 * equal views, except for live parts.
 */
export function isBoundary(event: unknown): event is BoundaryEvent {
  return ['turn-start', 'step-start', 'step-end'].includes(typeOf(event) as string)
}

/** The types of all events, sorted. */
export const eventTypes: readonly EventType[] = /* @__PURE__ */ [
  ...(Object.keys(folds) as EventType[]),
  ...(Object.keys(deltaTypes) as EventType[]),
].sort()
