import { isEnded, statusOf, type Status } from '@bowline/agent-loop/events'
import type { AnswerOf, CallOf, EventFacts, LeaseFacts, RunFacts } from './operations.ts'
import { tell } from './model-commit.ts'
import { callKey } from './model-writes.ts'
import { isTerminal, modelStatus, type Contradiction, type ModelRun, type ModelStatus, type SessionModel } from './session-model.ts'

function stale(text: string): Contradiction {
  return { rule: 'read', text }
}

/** Returns a contradiction for the first field that differs from the model. */
function differing<T extends object>(seen: Partial<T>, stands: T): Contradiction | undefined {
  for (const [name, value] of Object.entries(seen)) {
    const stood: unknown = Reflect.get(stands, name)
    if (value !== stood) return stale(`it saw ${name} ${String(value)}, and that stands at ${String(stood)}`)
  }
  return undefined
}

export function readSession(model: SessionModel, answer: AnswerOf<'readSession'>): Contradiction | undefined {
  const { id, isDeleted, version, nextSeq, leaf } = model.record
  const stands = id !== null ? 'found' : isDeleted ? 'deleted' : 'missing'
  // The model does not know whether the session has expired.
  if (answer.status !== stands && !(answer.status === 'expired' && id !== null)) return stale(`it saw that the session is ${answer.status}, and it is ${stands}`)
  if (!('id' in answer)) return undefined
  const { status: _status, ...seen } = answer
  return differing(seen, { id, version, nextSeq, leaf })
}

export function readInfo({ record }: SessionModel, { session }: AnswerOf<'info'>): Contradiction | undefined {
  // For another owner the session is reported as missing.
  if (!session) return record.id === null || record.isOwned ? undefined : stale('it saw no session, and there is one')
  if (record.id === null) return stale('it saw a session, and there is none')
  return differing(session, { version: record.version, leaf: record.leaf, lastSeq: record.nextSeq - 1 })
}

export function readRun(model: SessionModel, runId: string, seen: RunFacts | null): Contradiction | undefined {
  const run = model.runs.get(runId)
  if (!seen) return !run || (model.isPruned && isTerminal(run.status)) ? undefined : stale(`it did not see ${runId}, which is ${run.status}`)
  return run ? differsFrom(run, seen) : stale(`it saw ${runId}, which is not there`)
}

function differsFrom(run: ModelRun, seen: RunFacts): Contradiction | undefined {
  if (modelStatus(seen.status) !== run.status) return stale(`it saw that ${run.id} is ${seen.status}, and it is ${run.status}`)
  if (seen.epoch !== run.epoch) return stale(`it saw epoch ${seen.epoch} of ${run.id}, and it has epoch ${run.epoch}`)
  return Boolean(seen.stop) === Boolean(run.stop) ? undefined : { rule: 'stop', text: `it saw ${seen.stop ? 'a' : 'no'} stop request for ${run.id}, and ${run.stop ? 'one' : 'none'} is stored` }
}

export function listRuns(model: SessionModel, call: CallOf<'listRuns'>, { runs, isWhole }: AnswerOf<'listRuns'>): Contradiction | undefined {
  for (const seen of runs) {
    const contradiction = readRun(model, seen.id, seen)
    if (contradiction) return contradiction
  }
  if (!isWhole || call.page !== undefined) return undefined
  const wanted = call.status && new Set(call.status.map(modelStatus))
  return unseenRun(model, runs, ({ status }) => !wanted || wanted.has(status))
}

function unseenRun(model: SessionModel, seen: readonly { readonly id: string }[], isWanted: (run: ModelRun) => boolean): Contradiction | undefined {
  const ids = new Set(seen.map(({ id }) => id))
  for (const run of model.runs.values()) {
    if (ids.has(run.id) || !isWanted(run) || (model.isPruned && isTerminal(run.status))) continue
    return stale(`it did not see ${run.id}, which is ${run.status}`)
  }
  return undefined
}

/** Compares a list of runs by public status. One public status can mean several stored ones. */
export function listRunInfos(model: SessionModel, call: CallOf<'runs'>, { runs, isWhole }: AnswerOf<'runs'>): Contradiction | undefined {
  for (const { id, status } of runs) {
    const run = model.runs.get(id)
    if (!run) return stale(`it saw ${id}, which is not there`)
    if (!isWordFor(run.status, status)) return stale(`it saw that ${id} is ${status}, and it is ${run.status}`)
  }
  return isWhole && !call.status ? unseenRun(model, runs, () => true) : undefined
}

function isWordFor(status: ModelStatus, word: Status): boolean {
  if (isTerminal(status)) return statusOf(status as Exclude<ModelStatus, 'waiting'>) === word
  return !isEnded(word)
}

export function readCalls(model: SessionModel, { runId, step }: CallOf<'readCalls'>, { calls }: AnswerOf<'readCalls'>): Contradiction | undefined {
  for (const call of calls) {
    const key = callKey(runId, call.step, call.toolCallId)
    const state = model.calls.get(key)
    if (state !== call.state) return stale(`it saw that the call ${key} is ${call.state}, and it is ${state ?? 'not there'}`)
  }
  const prefix = step === undefined ? `${runId}/` : `${runId}/${step}/`
  const stored = [...model.calls.keys()].filter((key) => key.startsWith(prefix)).length
  return stored === calls.length ? undefined : stale(`it saw ${calls.length} calls, and there are ${stored}`)
}

export function readInbox({ inbox, isPruned }: SessionModel, { kinds }: CallOf<'readInbox'>, { ids }: AnswerOf<'readInbox'>): Contradiction | undefined {
  const unknown = ids.find((id) => !inbox.has(id))
  if (unknown !== undefined) return stale(`it saw the inbox row ${unknown}, which is not there`)
  const wanted = kinds.filter((kind) => !isPruned || kind !== 'taken')
  const unseen = [...inbox.keys()].find((id) => wanted.some((kind) => kind === inbox.get(id)?.kind) && !ids.includes(id))
  return unseen === undefined ? undefined : stale(`it did not see the inbox row ${unseen}`)
}

export function readPath(model: SessionModel, call: CallOf<'readPath'>, { ids, isWhole }: AnswerOf<'readPath'>): Contradiction | undefined {
  if (call.before !== undefined) return undefined
  return differsFromPath(model, ids, call.leaf === undefined ? model.record.leaf : call.leaf, { isWhole, messagesOnly: false })
}

/** Compares the messages of the active path at the log position of the page. */
export function readMessages(model: SessionModel, { ids, lastSeq, isWhole }: AnswerOf<'messages'>): Contradiction | undefined {
  const { nextSeq, leaf } = model.record
  if (lastSeq !== nextSeq - 1) return stale(`it saw the log up to ${lastSeq}, and it ends at ${nextSeq - 1}`)
  return differsFromPath(model, ids.toReversed(), leaf, { isWhole, messagesOnly: true })
}

interface PathRead {
  readonly isWhole: boolean
  readonly messagesOnly: boolean
}

/** Compares entries with the path. `ids` is the newest part of the path, newest first. */
function differsFromPath({ entries }: SessionModel, ids: readonly string[], leaf: string | null, { isWhole, messagesOnly }: PathRead): Contradiction | undefined {
  let place = 0
  for (let id = leaf; id !== null; ) {
    const entry = entries.get(id)
    if (!entry) return stale(`the path has the entry ${id}, which is not there`)
    if (!messagesOnly || entry.isMessage) {
      if (place === ids.length) return isWhole ? stale(`it did not see the entry ${id}`) : undefined
      if (ids[place] !== id) return stale(`it saw the entry ${ids[place]} in the place of ${id}`)
      place++
    }
    id = entry.parentId
  }
  return place === ids.length ? undefined : stale(`it saw the entry ${ids[place]}, which is not on the path`)
}

export function readEvents(model: SessionModel, { after, limit }: CallOf<'readEvents'>, { firstSeq, lastSeq, sessionId, events }: AnswerOf<'readEvents'>): Contradiction | undefined {
  const { id, nextSeq } = model.record
  if (sessionId !== (id ?? undefined)) return stale(`it saw the session ${sessionId ?? 'none'}, and there is ${id ?? 'none'}`)
  if (lastSeq !== nextSeq - 1) return stale(`it saw the log up to ${lastSeq}, and it ends at ${nextSeq - 1}`)
  if (id === null) return undefined
  let expected = Math.max(after + 1, firstSeq)
  for (const event of events) {
    if (event.seq !== expected) return { rule: 'seq', text: `it saw the event ${event.seq} in the place of ${expected}` }
    const contradiction = seeEvent(model, event)
    if (contradiction) return contradiction
    expected++
  }
  const isCut = events.length < limit && expected <= lastSeq
  return isCut ? { rule: 'seq', text: `it did not see the event ${expected}` } : undefined
}

/** Checks that the event is stored as it was seen. */
export function seeEvent({ events, record }: SessionModel, { seq, ...seen }: EventFacts): Contradiction | undefined {
  // For a deleted session, a reader creates the end event itself, as the next event.
  if (seen.type === 'session-end') return undefined
  const stored = events.get(String(seq))
  if (!stored) return seq < record.firstSeq ? undefined : stale(`it saw the event ${seq}, which is not there`)
  return stored.type === seen.type && stored.runId === seen.runId ? undefined : stale(`it saw ${seen.type} as event ${seq}, and that is ${stored.type}`)
}

export function readToEnd({ record }: SessionModel, { lastSeq }: AnswerOf<'events'>): Contradiction | undefined {
  const seen = lastSeq ?? record.firstSeq - 1
  return seen === record.nextSeq - 1 ? undefined : stale(`it saw the log up to ${seen}, and it ends at ${record.nextSeq - 1}`)
}

export function readLease(model: SessionModel, process: string, epoch: number, { runId, held, stop }: LeaseFacts): Contradiction | undefined {
  const run = model.runs.get(runId)
  const isHeld = run?.status === 'running' && run.epoch === epoch
  if (held !== isHeld) return { rule: 'fence', text: `it is told that it ${held ? 'holds' : 'has lost'} epoch ${epoch} of ${runId}, which is ${run ? `${run.status} under epoch ${run.epoch}` : 'not there'}` }
  if (!held || !run) return undefined
  if (Boolean(stop) !== Boolean(run.stop)) return { rule: 'stop', text: `it is told of ${stop ? 'a' : 'no'} stop request for ${runId}, and ${run.stop ? 'one' : 'none'} is stored` }
  tell(model, process, run)
  return undefined
}

export function isAccepted(model: SessionModel, { inputId }: CallOf<'send'>, { runId, accepted }: AnswerOf<'send'>): Contradiction | undefined {
  if (!model.runs.has(runId)) return { rule: 'lost-input', text: `its input was accepted (${accepted}) for ${runId}, which is not there` }
  const isNamed = inputId === undefined || model.inputs.has(inputId) || [...model.inbox.values()].some((row) => row.inputId === inputId)
  return isNamed || accepted === 'steered' || model.isPruned ? undefined : { rule: 'lost-input', text: `the input ${inputId} was accepted, and no run or inbox row has it` }
}

export function isStopped(model: SessionModel, { runId, state }: AnswerOf<'stop'>): Contradiction | undefined {
  const run = model.runs.get(runId ?? '')
  if (state === 'nothing-to-stop') return model.openRuns.size === 0 ? undefined : { rule: 'stop', text: 'it is told that nothing is to be stopped, and a run is open' }
  // A deleted session has no runs.
  if (!run || isTerminal(run.status)) return undefined
  if (state === 'settled') return { rule: 'stop', text: `it is told that ${run.id} has ended, which is ${run.status}` }
  return run.stop ? undefined : { rule: 'stop', text: `it is told that ${run.id} is being stopped, and no stop request is stored` }
}

export function hasResult(model: SessionModel, { runId }: CallOf<'result'>, { status }: AnswerOf<'result'>): Contradiction | undefined {
  const run = model.runs.get(runId)
  const stands = run?.status ?? 'not there'
  return stands === modelStatus(status) || model.isPruned ? undefined : stale(`it is told that ${runId} is ${status}, and it is ${stands}`)
}
