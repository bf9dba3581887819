import { statusOf, type Status } from '@bowline/agent-loop/events'
import type { AnswerOf, CallOf, EventFacts, LeaseFacts, RunFacts } from './operations.ts'
import { tell } from './model-commit.ts'
import { callKey } from './model-writes.ts'
import { isTerminal, modelStatus, type Contradiction, type ModelRun, type SessionModel } from './session-model.ts'

function stale(text: string): Contradiction {
  return { rule: 'read', text }
}

/** Returns a contradiction for the first field that differs from the model. */
function differing<T extends object>(seen: Partial<T>, expected: T): Contradiction | undefined {
  for (const [name, value] of Object.entries(seen)) {
    const stored: unknown = Reflect.get(expected, name)
    if (value !== stored) return stale(`returns ${name} ${String(value)}, expected ${String(stored)}`)
  }
  return undefined
}

export function readSession(model: SessionModel, answer: AnswerOf<'readSession'>): Contradiction | undefined {
  const { id, isDeleted, version, nextSeq, leaf } = model.record
  const expected = id !== null ? 'found' : isDeleted ? 'deleted' : 'missing'
  // The model does not know whether the session has expired.
  if (answer.status !== expected && !(answer.status === 'expired' && id !== null))
    return stale(`returns the session status ${answer.status}, expected ${expected}`)
  if (!('id' in answer)) return undefined
  const { status: _status, ...seen } = answer
  return differing(seen, { id, version, nextSeq, leaf })
}

export function readInfo({ record }: SessionModel, { session }: AnswerOf<'info'>): Contradiction | undefined {
  // For another owner the session is reported as missing.
  if (!session) return record.id === null || record.isOwned ? undefined : stale('returns no session, but the session exists')
  if (record.id === null) return stale('returns a session, but the session does not exist')
  return differing(session, { version: record.version, leaf: record.leaf, lastSeq: record.nextSeq - 1 })
}

export function readRun(model: SessionModel, runId: string, seen: RunFacts | null): Contradiction | undefined {
  const run = model.runs.get(runId)
  if (!seen)
    return !run || (model.isPruned && isTerminal(run.status))
      ? undefined
      : stale(`does not return the run ${runId}, which is ${run.status}`)
  return run ? differsFrom(run, seen) : stale(`returns the run ${runId}, which does not exist`)
}

function differsFrom(run: ModelRun, seen: RunFacts): Contradiction | undefined {
  if (modelStatus(seen.status) !== run.status) return stale(`returns status ${seen.status} of the run ${run.id}, expected ${run.status}`)
  if (seen.epoch !== run.epoch) return stale(`returns epoch ${seen.epoch} of the run ${run.id}, expected ${run.epoch}`)
  return Boolean(seen.stop) === Boolean(run.stop)
    ? undefined
    : {
        rule: 'stop',
        text: `returns ${seen.stop ? 'a' : 'no'} stop request for the run ${run.id}, but ${run.stop ? 'one' : 'none'} is stored`,
      }
}

export function listRuns(
  model: SessionModel,
  call: CallOf<'listRuns'>,
  { runs, isWhole }: AnswerOf<'listRuns'>,
): Contradiction | undefined {
  for (const seen of runs) {
    const contradiction = readRun(model, seen.id, seen)
    if (contradiction) return contradiction
  }
  if (!isWhole || call.page !== undefined) return undefined
  const wanted = call.status && new Set(call.status.map(modelStatus))
  return unseenRun(model, runs, ({ status }) => !wanted || wanted.has(status))
}

function unseenRun(
  model: SessionModel,
  seen: readonly { readonly id: string }[],
  isWanted: (run: ModelRun) => boolean,
): Contradiction | undefined {
  const ids = new Set(seen.map(({ id }) => id))
  for (const run of model.runs.values()) {
    if (ids.has(run.id) || !isWanted(run) || (model.isPruned && isTerminal(run.status))) continue
    return stale(`does not return the run ${run.id}, which is ${run.status}`)
  }
  return undefined
}

/** Compares a list of runs by public status. One public status can mean several stored ones. */
export function listRunInfos(model: SessionModel, call: CallOf<'runs'>, { runs, isWhole }: AnswerOf<'runs'>): Contradiction | undefined {
  for (const { id, status } of runs) {
    const run = model.runs.get(id)
    if (!run) return stale(`returns the run ${id}, which does not exist`)
    if (!isWordFor(run, status))
      return stale(`returns status ${status} of the run ${id}, which is ${run.status}${run.rest ? ` and whose turn is ${run.rest}` : ''}`)
  }
  return isWhole && !call.status ? unseenRun(model, runs, () => true) : undefined
}

/** A run that still stores records after a `turn-end` has the status of that. */
function isWordFor({ status: stored, rest }: ModelRun, word: Status): boolean {
  const status = rest ? modelStatus(rest) : stored
  if (status === 'waiting') return word === 'waiting-for-user' || word === 'waiting-for-subagent'
  if (isTerminal(status) || status === 'needs-recovery') return statusOf(status) === word
  return word === 'queued' || word === 'running' || word === 'waiting-for-retry'
}

export function readCalls(
  model: SessionModel,
  { runId, step }: CallOf<'readCalls'>,
  { calls }: AnswerOf<'readCalls'>,
): Contradiction | undefined {
  for (const call of calls) {
    const key = callKey(runId, call.step, call.toolCallId)
    const state = model.calls.get(key)
    if (state !== call.state)
      return stale(`returns state ${call.state} of the call ${key}, ${state ? `expected ${state}` : 'which does not exist'}`)
  }
  const prefix = step === undefined ? `${runId}/` : `${runId}/${step}/`
  const stored = [...model.calls.keys()].filter((key) => key.startsWith(prefix)).length
  return stored === calls.length ? undefined : stale(`returns ${calls.length} calls, expected ${stored}`)
}

export function readInbox(
  { inbox, isPruned }: SessionModel,
  { kinds }: CallOf<'readInbox'>,
  { ids }: AnswerOf<'readInbox'>,
): Contradiction | undefined {
  const unknown = ids.find((id) => !inbox.has(id))
  if (unknown !== undefined) return stale(`returns the inbox row ${unknown}, which does not exist`)
  const wanted = kinds.filter((kind) => !isPruned || kind !== 'taken')
  const unseen = [...inbox.keys()].find((id) => wanted.some((kind) => kind === inbox.get(id)?.kind) && !ids.includes(id))
  return unseen === undefined ? undefined : stale(`does not return the inbox row ${unseen}`)
}

export function readPath(model: SessionModel, call: CallOf<'readPath'>, { ids, isWhole }: AnswerOf<'readPath'>): Contradiction | undefined {
  if (call.before !== undefined) return undefined
  return differsFromPath(model, ids, call.leaf === undefined ? model.record.leaf : call.leaf, { isWhole, messagesOnly: false })
}

/** Compares the messages of the active path at the log position of the page. */
export function readMessages(model: SessionModel, { ids, lastSeq, isWhole }: AnswerOf<'messages'>): Contradiction | undefined {
  const { nextSeq, leaf } = model.record
  if (lastSeq !== nextSeq - 1) return stale(`returns last seq ${lastSeq}, expected ${nextSeq - 1}`)
  return differsFromPath(model, ids.toReversed(), leaf, { isWhole, messagesOnly: true })
}

interface PathRead {
  readonly isWhole: boolean
  readonly messagesOnly: boolean
}

/** Compares entries with the path. `ids` is the newest part of the path, newest first. */
function differsFromPath(
  { entries }: SessionModel,
  ids: readonly string[],
  leaf: string | null,
  { isWhole, messagesOnly }: PathRead,
): Contradiction | undefined {
  let place = 0
  for (let id = leaf; id !== null;) {
    const entry = entries.get(id)
    if (!entry) return stale(`reads a path with the entry ${id}, which does not exist`)
    if (!messagesOnly || entry.isMessage) {
      if (place === ids.length) return isWhole ? stale(`does not return the entry ${id}`) : undefined
      if (ids[place] !== id) return stale(`returns the entry ${ids[place]}, expected ${id}`)
      place++
    }
    id = entry.parentId
  }
  return place === ids.length ? undefined : stale(`returns the entry ${ids[place]}, which is not on the path`)
}

export function readEvents(
  model: SessionModel,
  { after, limit }: CallOf<'readEvents'>,
  { firstSeq, lastSeq, sessionId, events }: AnswerOf<'readEvents'>,
): Contradiction | undefined {
  const { id, nextSeq } = model.record
  if (sessionId !== (id ?? undefined)) return stale(`returns the session id ${sessionId ?? 'none'}, expected ${id ?? 'none'}`)
  if (lastSeq !== nextSeq - 1) return stale(`returns last seq ${lastSeq}, expected ${nextSeq - 1}`)
  if (id === null) return undefined
  let expected = Math.max(after + 1, firstSeq)
  for (const event of events) {
    if (event.seq !== expected) return { rule: 'seq', text: `returns the event ${event.seq}, expected ${expected}` }
    const contradiction = seeEvent(model, event)
    if (contradiction) return contradiction
    expected++
  }
  const isCut = events.length < limit && expected <= lastSeq
  return isCut ? { rule: 'seq', text: `does not return the event ${expected}` } : undefined
}

/** Checks that the event is stored as it was seen. */
export function seeEvent({ events, record }: SessionModel, { seq, ...seen }: EventFacts): Contradiction | undefined {
  // For a deleted session, a reader creates the end event itself, as the next event.
  if (seen.type === 'session-end') return undefined
  const stored = events.get(String(seq))
  if (!stored) return seq < record.firstSeq ? undefined : stale(`returns the event ${seq}, which does not exist`)
  return stored.type === seen.type && stored.runId === seen.runId
    ? undefined
    : stale(`returns ${nameOf(seen)} as event ${seq}, expected ${nameOf(stored)}`)
}

function nameOf({ type, runId }: Omit<EventFacts, 'seq'>): string {
  return runId === undefined ? type : `${type} of ${runId}`
}

export function readToEnd({ record }: SessionModel, { lastSeq }: AnswerOf<'events'>): Contradiction | undefined {
  const seen = lastSeq ?? record.firstSeq - 1
  return seen === record.nextSeq - 1 ? undefined : stale(`reads the log up to seq ${seen}, expected ${record.nextSeq - 1}`)
}

export function readLease(
  model: SessionModel,
  process: string,
  epoch: number,
  { runId, held, stop }: LeaseFacts,
): Contradiction | undefined {
  const run = model.runs.get(runId)
  const isHeld = run?.status === 'running' && run.epoch === epoch
  if (held !== isHeld)
    return {
      rule: 'fence',
      text: `returns held ${held} for epoch ${epoch} of the run ${runId}, ${run ? `but the run is ${run.status} with epoch ${run.epoch}` : 'which does not exist'}`,
    }
  if (!held || !run) return undefined
  if (Boolean(stop) !== Boolean(run.stop))
    return {
      rule: 'stop',
      text: `returns ${stop ? 'a' : 'no'} stop request for the run ${runId}, but ${run.stop ? 'one' : 'none'} is stored`,
    }
  tell(model, process, run)
  return undefined
}

export function isAccepted(
  model: SessionModel,
  { inputId }: CallOf<'send'>,
  { runId, accepted }: AnswerOf<'send'>,
): Contradiction | undefined {
  if (!model.runs.has(runId))
    return { rule: 'lost-input', text: `returns accepted "${accepted}" for the run ${runId}, which does not exist` }
  const isNamed = inputId === undefined || model.inputs.has(inputId) || [...model.inbox.values()].some((row) => row.inputId === inputId)
  return isNamed || accepted === 'steered' || model.isPruned
    ? undefined
    : { rule: 'lost-input', text: `returns accepted "${accepted}" for the input ${inputId}, but no run or inbox row has it` }
}

export function isStopped(model: SessionModel, { runId, state }: AnswerOf<'stop'>): Contradiction | undefined {
  const run = model.runs.get(runId ?? '')
  if (state === 'nothing-to-stop')
    return model.openRuns.size === 0
      ? undefined
      : { rule: 'stop', text: `returns nothing-to-stop, but the session has the open run ${[...model.openRuns.keys()].join(', ')}` }
  // A deleted session has no runs.
  if (!run || isTerminal(run.status)) return undefined
  if (state === 'settled') return { rule: 'stop', text: `returns settled for the run ${run.id}, which is ${run.status}` }
  return run.stop ? undefined : { rule: 'stop', text: `returns ${state} for the run ${run.id}, but no stop request is stored` }
}

export function hasResult(model: SessionModel, { runId }: CallOf<'result'>, { status }: AnswerOf<'result'>): Contradiction | undefined {
  const run = model.runs.get(runId)
  return run?.status === modelStatus(status) || model.isPruned
    ? undefined
    : stale(`returns status ${status} of the run ${runId}, ${run ? `expected ${run.status}` : 'which does not exist'}`)
}
