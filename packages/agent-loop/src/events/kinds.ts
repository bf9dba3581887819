import type { AgentEvent, DeltaEvent, DurableEvent } from './types.ts'

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
  'tool-execution-delta': true,
}

const durableTypes: Readonly<Record<DurableEvent['type'], true>> = {
  'session-start': true,
  'session-end': true,
  'run-queued': true,
  'branch-switched': true,
  'orchestration-step': true,
  'user-message': true,
  'runtime-input': true,
  'turn-start': true,
  'step-start': true,
  'step-end': true,
  'turn-end': true,
  'retry-start': true,
  'retry-end': true,
  'message-start': true,
  'message-end': true,
  'message-discarded': true,
  'tool-execution-start': true,
  'tool-execution-end': true,
  'awaiting-tools': true,
  'approval-requested': true,
  'approval-resolved': true,
  'compaction-start': true,
  'compaction-end': true,
  usage: true,
  'child-start': true,
  'child-update': true,
  'child-end': true,
  'save-point': true,
  settled: true,
  error: true,
}

export type BoundaryEvent = Extract<AgentEvent, { type: 'turn-start' | 'step-start' | 'step-end' }>

/** Reads the type of a value from a stream or a log. A value that is no event has none. */
function typeOf(event: unknown): PropertyKey {
  const type = (event as { readonly type?: unknown } | null | undefined)?.type
  return typeof type === 'string' ? type : ''
}

/** Live only: it has no `seq`, and the durable event that closes its message or call holds the whole. */
export function isDelta(event: unknown): event is DeltaEvent {
  return Object.hasOwn(deltaTypes, typeOf(event))
}

/** Made by a commit: it has a `seq`. False for types that this version does not know. */
export function isDurable(event: unknown): event is DurableEvent {
  return Object.hasOwn(durableTypes, typeOf(event))
}

/** Where two logs that differ only in the deltas they kept fold to equal views, live parts apart. */
export function isBoundary(event: unknown): event is BoundaryEvent {
  return ['turn-start', 'step-start', 'step-end'].includes(typeOf(event) as string)
}

/** Every event type, sorted: the protocol's vocabulary. */
export const eventTypes: readonly EventType[] = [
  ...(Object.keys(durableTypes) as EventType[]),
  ...(Object.keys(deltaTypes) as EventType[]),
].sort()
