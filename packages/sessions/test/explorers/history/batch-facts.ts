import type { Batch, CommitResult, NewEvent, Write } from '../../../src/contract/batch.ts'
import type { RunRecord, StoredEvent } from '../../../src/contract/records.ts'
import type { BatchFacts, CommitFacts, EventFacts, RunFacts, WriteFacts } from './operations.ts'

/** Returns the facts of a batch that the model needs, without content. */
export function batchFacts({ id, key, expect, writes, deliver }: Batch): BatchFacts {
  return {
    id,
    key,
    expect,
    writes: writes.flatMap(writeFacts),
    ...(deliver && deliver.length > 0 && { deliver: deliver.map((each) => ({ ...each, writes: each.writes.flatMap(writeFacts) })) }),
  }
}

function writeFacts(write: Write): readonly WriteFacts[] {
  switch (write.op) {
    case 'session.ensure':
      return [{ op: write.op, id: write.session.id, ...(write.session.owner !== undefined && { owned: true }) }]
    case 'session.delete':
      return [{ op: write.op, ...(write.leavesNothing && { leavesNothing: true }) }]
    case 'session.patch':
      return write.patch.leaf === undefined ? [] : [{ op: 'leaf', leaf: write.patch.leaf }]
    case 'entry.append':
      return [{ op: write.op, entries: write.entries.map(({ id, parentId, type }) => ({ id, parentId, isMessage: type === 'message' })) }]
    case 'event.append':
      return [{ op: write.op, events: write.events.map(newEventFacts) }]
    case 'run.insert': {
      const { id, kind, lane, inputId, parent } = write.run
      return [
        {
          op: write.op,
          id,
          kind,
          ...(lane && { lane }),
          ...(inputId !== undefined && { inputId }),
          ...(parent && { parent: parent.runId }),
        },
      ]
    }
    case 'run.patch': {
      const { status, stop, rest } = write.patch
      return [
        {
          op: write.op,
          runId: write.runId,
          ...(status && { status }),
          ...(stop && { stop: true }),
          ...(rest !== undefined && { rest: rest && rest.status }),
        },
      ]
    }
    case 'call.put':
      return [{ op: write.op, calls: write.calls.map(({ runId, step, toolCallId, state }) => ({ runId, step, toolCallId, state })) }]
    case 'inbox.put':
    case 'inbox.patch':
      return [
        { op: write.op, rows: write.rows.map(({ id, kind, body }) => ({ id, kind, ...('inputId' in body && { inputId: body.inputId }) })) },
      ]
    case 'inbox.take':
      return [{ op: write.op, ids: write.ids }]
    case 'session.expire':
    case 'definition.put':
    case 'timer.put':
    case 'timer.drop':
      return []
    default: {
      const unknown: never = write
      return unknown
    }
  }
}

function newEventFacts({ event }: NewEvent): Omit<EventFacts, 'seq'> {
  return eventFacts(event)
}

export function storedEventFacts(event: StoredEvent): EventFacts {
  return { seq: event.seq, ...eventFacts(event) }
}

/** Returns the facts of a durable event, in its stored form or as a reader gets it. */
export function eventFacts(event: { readonly type: string }): Omit<EventFacts, 'seq'> {
  const { runId, toolCallId, messageId, status, resumed } = event as Readonly<Record<string, unknown>>
  const of = toolCallId ?? messageId
  return {
    type: event.type,
    ...(typeof runId === 'string' && { runId }),
    ...(typeof of === 'string' && { of }),
    ...(event.type === 'turn-end' && typeof status === 'string' && { status }),
    ...(event.type === 'turn-start' && resumed === true && { resumed }),
  }
}

export function commitFacts(result: CommitResult): CommitFacts {
  if (!result.ok) return { ok: false, reason: result.reason }
  const { sessionId, version, firstSeq, lastSeq, existing } = result
  return { ok: true, sessionId, version, firstSeq, lastSeq, ...(existing && { existing: existing.runId }) }
}

export function runFacts({ id, session, status, epoch, stop }: RunRecord): RunFacts {
  return { id, key: session, status, epoch, ...(stop && { stop: true }) }
}
