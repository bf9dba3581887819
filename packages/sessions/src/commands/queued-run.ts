import type { CommitResult, NewRun, PartialEvent, Write } from '../contract/batch.ts'
import type { StoredEvent } from '../contract/records.ts'
import { numbered } from '../writer/new-event.ts'
import type { SessionContext } from './context.ts'

export function insertion(run: NewRun): Write[] {
  return [
    { op: 'run.insert', run },
    { op: 'event.append', events: [{ event: runQueued(run), refers: { runInput: run.id } }] },
  ]
}

export function sessionStart(sessionKey: string, at: number) {
  return { type: 'session-start', at, sessionKey } as const
}

function runQueued(run: NewRun): PartialEvent & { readonly type: 'run-queued' } {
  const inputId = run.inputId === undefined ? {} : { inputId: run.inputId }
  return { type: 'run-queued', at: run.at, runId: run.id, kind: run.kind, ...inputId }
}

/** Returns the event for readers, which includes the input. */
export function queuedEvent(run: NewRun): Omit<StoredEvent, 'seq'> {
  return { ...runQueued(run), input: run.input } as unknown as Omit<StoredEvent, 'seq'>
}

export function publishRunQueued(
  context: Pick<SessionContext, 'live'>,
  key: string,
  result: Extract<CommitResult, { ok: true }>,
  run: NewRun,
): void {
  publishOwn(context, key, result, [queuedEvent(run)])
}

/** Publishes events that no run made, unless the commit was a repeat. */
export function publishOwn(
  context: Pick<SessionContext, 'live'>,
  key: string,
  result: Extract<CommitResult, { ok: true }>,
  events: readonly Omit<StoredEvent, 'seq'>[],
): void {
  if (!result.existing) context.live.publish(key, numbered(events, result), false)
}
