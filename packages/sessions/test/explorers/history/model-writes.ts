import type { EventFacts, WriteFacts } from './operations.ts'
import {
  firstPlace,
  isHolding,
  isTerminal,
  modelStatus,
  placeOf,
  type Contradiction,
  type ModelStatus,
  type SessionModel,
} from './session-model.ts'

const moves: Readonly<Partial<Record<ModelStatus, readonly ModelStatus[]>>> = {
  queued: ['running', 'aborted'],
  running: ['running', 'queued', 'waiting', 'needs-recovery', 'completed', 'aborted', 'error', 'halted', 'limit'],
  waiting: ['queued', 'waiting', 'aborted'],
  'needs-recovery': ['queued', 'aborted'],
}

type Apply = {
  readonly [Op in WriteFacts['op']]: (model: SessionModel, write: Extract<WriteFacts, { op: Op }>) => Contradiction | undefined
}

const apply: Apply = {
  'session.ensure'(model, { id, owned = false }) {
    const { record } = model
    if (record.id === null) model.patchRecord({ id, isDeleted: false, isOwned: owned, firstSeq: record.nextSeq, leaf: null })
    return undefined
  },
  'session.delete'(model, { leavesNothing = false }) {
    const { version, nextSeq, nextRun } = model.record
    model.forget(leavesNothing ? {} : { isDeleted: true, version, nextSeq: nextSeq + 1, nextRun })
    return undefined
  },
  leaf(model, { leaf }) {
    if (leaf !== null && !model.entries.has(leaf)) return wrong(`sets the leaf ${leaf}, which is not an entry of the session`)
    model.patchRecord({ leaf })
    return undefined
  },
  'entry.append'(model, { entries }) {
    for (const { id, parentId, isMessage } of entries) {
      if (parentId !== null && !model.entries.has(parentId))
        return wrong(`appends the entry ${id} with the parent ${parentId}, which does not exist`)
      if (model.entries.has(id)) return wrong(`appends the entry ${id}, which already exists`)
      model.entries.put(id, { parentId, isMessage })
      model.patchRecord({ leaf: id })
    }
    return undefined
  },
  'event.append'(model, { events }) {
    for (const event of events) {
      const contradiction = takeEvent(model, event)
      if (contradiction) return contradiction
    }
    return undefined
  },
  'run.insert'(model, { id, kind, lane, inputId }) {
    if (model.runs.has(id)) return wrong(`inserts the run ${id}, which already exists`)
    const same = inputId === undefined ? undefined : model.inputs.get(inputId)
    if (same !== undefined && !model.isPruned)
      return { rule: 'answered-once', text: `accepts the input ${inputId} as the run ${id}, but the run ${same} already has it` }
    const { nextRun } = model.record
    model.setRun({ id, kind, place: placeOf(kind, lane, nextRun), status: 'queued', epoch: 0 })
    model.patchRecord({ nextRun: nextRun + 1 })
    if (inputId !== undefined) model.inputs.put(inputId, id)
    return undefined
  },
  'run.patch': patchRun,
  'call.put'(model, { calls }) {
    for (const { runId, step, toolCallId, state } of calls) {
      const key = callKey(runId, step, toolCallId)
      if (!model.runs.has(runId)) return wrong(`stores the call ${key} of a run that does not exist`)
      if (model.calls.get(key) === 'settled') return wrong(`stores the call ${key}, which already has an outcome`)
      model.calls.put(key, state)
      model.openCalls.put(key, state === 'settled' ? undefined : true)
    }
    return undefined
  },
  'inbox.put'(model, { rows }) {
    for (const { id, ...row } of rows) {
      if (model.inbox.has(id)) return wrong(`puts the inbox row ${id}, which already exists`)
      model.inbox.put(id, row)
    }
    return undefined
  },
  'inbox.patch'(model, { rows }) {
    for (const { id, ...row } of rows) if (model.inbox.has(id)) model.inbox.put(id, row)
    return undefined
  },
  'inbox.take'(model, { ids }) {
    for (const id of ids) if (model.inbox.has(id)) model.inbox.put(id, undefined)
    return undefined
  },
}

/** Applies writes in order, up to the first one that contradicts the model. */
export function applyWrites(model: SessionModel, writes: readonly WriteFacts[]): Contradiction | undefined {
  for (const write of writes) {
    if (write.op !== 'session.ensure' && model.record.id === null) return wrong('writes to a session that does not exist')
    const contradiction = apply[write.op](model, write as never)
    if (contradiction) return contradiction
  }
  return undefined
}

export function callKey(runId: string, step: number, toolCallId: string): string {
  return `${runId}/${step}/${toolCallId}`
}

function wrong(text: string): Contradiction {
  return { rule: 'write', text }
}

function takeEvent(model: SessionModel, event: Omit<EventFacts, 'seq'>): Contradiction | undefined {
  const { nextSeq } = model.record
  model.events.put(String(nextSeq), event)
  model.patchRecord({ nextSeq: nextSeq + 1 })
  const run = model.runs.get(event.runId ?? '')
  if (!run) return undefined
  if (event.type === 'turn-start' && !event.resumed) {
    if (run.hasBegun) return { rule: 'answered-once', text: `begins the run ${run.id}, which has already begun` }
    model.patchRun(run, { hasBegun: true })
  }
  if (event.type === 'turn-end' && isTerminal(event.status)) {
    if (run.hasEnded) return { rule: 'answered-once', text: `ends the turn of the run ${run.id}, which has already ended` }
    model.patchRun(run, { hasEnded: true })
  }
  return undefined
}

function patchRun(model: SessionModel, { runId, status, stop, rest }: Extract<WriteFacts, { op: 'run.patch' }>): Contradiction | undefined {
  const run = model.runs.get(runId)
  if (!run) return wrong(`changes the run ${runId}, which does not exist`)
  const next = status === undefined ? run.status : modelStatus(status)
  if (status !== undefined && !moves[run.status]?.includes(next))
    return wrong(`changes the run ${runId} from ${run.status} to ${next}, which is not allowed`)
  const other = model.open().find(({ id, status: held }) => id !== runId && isHolding(held))
  if (isHolding(next) && other) return wrong(`sets the run ${runId} to ${next} while the run ${other.id} is ${other.status}`)
  const openCall = isTerminal(next) && !isTerminal(run.status) ? callWithoutOutcome(model, runId) : undefined
  if (openCall !== undefined) return wrong(`ends the run ${runId}, but its call ${openCall} has no outcome`)
  model.patchRun(run, {
    status: next,
    ...(rest !== undefined && { rest: rest ?? undefined }),
    ...(stop && { stop, stoppedIn: model.operation }),
    ...(status === 'queued' && run.hasBegun && { place: firstPlace }),
  })
  return undefined
}

function callWithoutOutcome({ openCalls }: SessionModel, runId: string): string | undefined {
  for (const key of openCalls.keys()) if (key.startsWith(`${runId}/`)) return key
  return undefined
}
