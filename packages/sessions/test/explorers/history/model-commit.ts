import type { BatchFacts, ClaimFacts, CommitFacts, DeliveryFacts, WriteFacts } from './operations.ts'
import { brokenBy, checkExpectations } from './model-expectations.ts'
import { applyWrites } from './model-writes.ts'
import type { Contradiction, ModelRun, SessionModel } from './session-model.ts'

type Applied = Extract<CommitFacts, { ok: true }>

/** Events that only the process that executes the run writes. */
const ownerEvents: ReadonlySet<string> = new Set(['user-message', 'step-start', 'message-start', 'message-end', 'tool-execution-start'])
/** Events at which a model or a tool begins to work. `step-start` is not one, because a step may be empty. */
const starts: ReadonlySet<string> = new Set(['message-start', 'tool-execution-start'])

/** Applies a commit and compares its answer. Without an answer, applies it as the model predicts. */
export function commit(
  model: SessionModel,
  process: string,
  batch: BatchFacts,
  answer: CommitFacts | undefined,
): Contradiction | undefined {
  if (answer && !answer.ok) return refused(model, process, batch, answer.reason)
  if (answer?.existing !== undefined) return isKnownInput(model, batch, answer)
  const before = model.applied.get(batch.id)
  if (before && (!answer || isLast(model, batch) || isSame(before, answer))) {
    return answer && isSame(before, answer)
      ? undefined
      : { rule: 'version', text: `applies the batch ${batch.id}, which was already applied with version ${before.version}` }
  }
  return apply(model, process, batch, answer)
}

function apply(model: SessionModel, process: string, batch: BatchFacts, answer: Applied | undefined): Contradiction | undefined {
  const { version, nextSeq: firstSeq } = model.record
  const contradiction =
    checkExpectations(model, batch.expect) ??
    checkWriter(model, process, batch) ??
    checkStop(model, batch) ??
    applyWrites(model, batch.writes)
  if (contradiction) return contradiction
  const { record } = model
  const isGone = record.id === null
  const result: Applied = {
    ok: true,
    sessionId: record.id ?? answer?.sessionId ?? '',
    version: version + 1,
    firstSeq,
    lastSeq: isGone ? firstSeq - 1 : record.nextSeq - 1,
  }
  // A deleted session keeps only its numbers, and a deleted child session not even these.
  if (!isGone || record.isDeleted) model.patchRecord({ version: version + 1 })
  if (!isGone) noteApplied(model, batch, result)
  return answer && compare(result, answer)
}

function noteApplied(model: SessionModel, batch: BatchFacts, result: Applied): void {
  model.applied.put(batch.id, result)
  for (const name of ['', ...runsNamedBy(batch)]) model.lastBatch.put(name, batch.id)
}

function compare(expected: Applied, { sessionId, version, firstSeq, lastSeq }: Applied): Contradiction | undefined {
  if (version !== expected.version) return { rule: 'version', text: `returns version ${version}, expected ${expected.version}` }
  if (sessionId !== expected.sessionId)
    return { rule: 'write', text: `returns the session id ${sessionId}, expected ${expected.sessionId}` }
  if (firstSeq === expected.firstSeq && lastSeq === expected.lastSeq) return undefined
  return { rule: 'seq', text: `returns the events ${firstSeq} to ${lastSeq}, expected ${expected.firstSeq} to ${expected.lastSeq}` }
}

function isSame(a: Applied, b: Applied): boolean {
  return a.sessionId === b.sessionId && a.version === b.version && a.firstSeq === b.firstSeq && a.lastSeq === b.lastSeq
}

/** Returns true if the store must recognise a repeat of this batch. */
function isLast({ lastBatch }: SessionModel, batch: BatchFacts): boolean {
  return ['', ...runsNamedBy(batch)].some((name) => lastBatch.get(name) === batch.id)
}

function runsNamedBy({ expect, writes }: BatchFacts): readonly string[] {
  return [
    ...expect.flatMap((each) => (each.that === 'fence' ? each.runId : [])),
    ...writes.flatMap((write) => (write.op === 'run.insert' ? write.id : [])),
  ]
}

/** Checks a refusal: its reason must be true in the model. */
function refused(model: SessionModel, process: string, { expect }: BatchFacts, reason: string): Contradiction | undefined {
  const broken = expect.filter((each) => brokenBy(model, each) !== undefined)
  if (reason === 'fenced' && !broken.some(({ that }) => that === 'fence'))
    return { rule: 'fence', text: 'is refused as fenced, but its fence is valid' }
  if (reason === 'missing' && model.record.id !== null) return { rule: 'read', text: 'is refused as missing, but the session exists' }
  if (reason !== 'stopping') return undefined
  const told = broken.flatMap((each) => (each.that === 'run' ? (model.runs.get(each.runId) ?? []) : []))
  for (const run of told) tell(model, process, run)
  return told.some(({ stop }) => stop) ? undefined : { rule: 'read', text: 'is refused as stopping, but no stop request is stored' }
}

/** Notes that the owner of the run knows of the stop request. */
export function tell(model: SessionModel, process: string, run: ModelRun): void {
  if (run.stop && run.owner === process && !run.isTold) model.patchRun(run, { isTold: true })
}

/** Checks an answer that says that the input was accepted before. */
function isKnownInput(model: SessionModel, { writes }: BatchFacts, { existing, version }: Applied): Contradiction | undefined {
  if (version !== model.record.version) return { rule: 'read', text: `returns version ${version}, expected ${model.record.version}` }
  const named = writes.flatMap((write) =>
    write.op === 'run.insert' ? (write.inputId ?? []) : write.op === 'inbox.put' ? write.rows.flatMap(({ inputId }) => inputId ?? []) : [],
  )
  const isKnown = named.some(
    (inputId) => model.inputs.get(inputId) === existing || [...model.inbox.values()].some((row) => row.inputId === inputId),
  )
  return isKnown || model.isPruned
    ? undefined
    : { rule: 'answered-once', text: `returns ${existing} as the run of its input, but the input was not accepted before` }
}

/** Checks that the process that claimed the run makes all writes under its epoch, and all writes that only an owner makes. */
function checkWriter(model: SessionModel, process: string, { expect, writes }: BatchFacts): Contradiction | undefined {
  const fenced = expect.flatMap((each) => (each.that === 'fence' ? each.runId : []))
  const events = writes.flatMap((write) => (write.op === 'event.append' ? write.events : []))
  const owned = events.flatMap(({ type, runId }) => (runId !== undefined && ownerEvents.has(type) ? runId : []))
  for (const runId of new Set([...fenced, ...owned])) {
    const run = model.runs.get(runId)
    if (!run || run.owner === process) continue
    if (run.owner === undefined) return { rule: 'one-writer', text: `writes for the run ${runId}, which no process has claimed` }
    return {
      rule: 'one-writer',
      text: `writes for the run ${runId}, but its epoch ${run.epoch} belongs to the process ${run.owner}`,
      since: run.claimedIn,
    }
  }
  return undefined
}

/** Returns the run with a stop request for which the batch starts a model call, a tool or a child. */
function stoppedRunIn(model: SessionModel, { writes, deliver = [] }: BatchFacts): ModelRun | undefined {
  const begun = writes.flatMap((write) =>
    write.op === 'event.append' ? write.events.flatMap(({ type, runId }) => (runId !== undefined && starts.has(type) ? runId : [])) : [],
  )
  const spawned = deliver.flatMap((each) => each.writes.flatMap((write) => (write.op === 'run.insert' ? (write.parent ?? []) : [])))
  return [...begun, ...spawned].flatMap((runId) => model.runs.get(runId) ?? []).find(({ stop }) => stop)
}

/**
 * Checks that nothing starts after a stop. An owner learns of a stop at a boundary. It may store that boundary once, including
 * what would have begun there, before it ends the run.
 */
function checkStop(model: SessionModel, batch: BatchFacts): Contradiction | undefined {
  const run = stoppedRunIn(model, batch)
  if (!run) return undefined
  if (!run.isTold)
    return {
      rule: 'stop',
      text: `starts a model call, tool or subagent of the run ${run.id}, which has a stop request`,
      since: run.stoppedIn,
    }
  if (run.startedStopped)
    return {
      rule: 'stop',
      text: `starts another model call, tool or subagent of the run ${run.id}, whose owner knows of the stop request`,
      since: run.stoppedIn,
    }
  model.patchRun(run, { startedStopped: true })
  return undefined
}

/** Applies a delivery of a batch of another session. A broken expectation drops the delivery. Returns why it was dropped. */
export function deliver(model: SessionModel, delivery: DeliveryFacts): Contradiction | undefined {
  if (model.delivered.has(delivery.id)) return { rule: 'version', text: `repeats the delivery ${delivery.id}` }
  const mark = model.tracked.mark
  const contradiction =
    checkExpectations(model, delivery.when ?? []) ?? knownInput(model, delivery.writes) ?? applyWrites(model, delivery.writes)
  if (contradiction || model.record.id === null) model.tracked.backTo(mark)
  else model.patchRecord({ version: model.record.version + 1 })
  model.delivered.put(delivery.id, true)
  return contradiction
}

function knownInput(model: SessionModel, writes: readonly WriteFacts[]): Contradiction | undefined {
  const known = writes.some((write) => write.op === 'run.insert' && write.inputId !== undefined && model.inputs.has(write.inputId))
  return known ? { rule: 'answered-once', text: 'delivers an input that was already accepted' } : undefined
}

/** Claims the first open run. Without an answer, claims as the model predicts. */
export function claim(
  model: SessionModel,
  process: string,
  wanted: string | undefined,
  answer: ClaimFacts | undefined,
): Contradiction | undefined {
  const first = model.first()
  const runId = answer?.runId ?? wanted ?? first?.id ?? ''
  if (!first || first.id !== runId)
    return { rule: 'claim', text: `claims the run ${runId}, but ${first ? `the run ${first.id} is first` : 'no run is open'}` }
  if (first.status !== 'queued' && first.status !== 'running')
    return { rule: 'claim', text: `claims the run ${runId} with status ${first.status}, expected queued or running` }
  const version = model.record.version + 1
  model.patchRecord({ version })
  const { isTold: _told, startedStopped: _started, ...run } = first
  model.setRun({
    ...run,
    status: 'running',
    epoch: run.epoch + 1,
    owner: process,
    claimedIn: model.operation,
    ...(run.stop && { isTold: true }),
  })
  if (!answer) return undefined
  if (answer.epoch !== first.epoch + 1)
    return {
      rule: 'epoch',
      text: `claims the run ${runId} with epoch ${answer.epoch}, expected ${first.epoch + 1}`,
      since: first.claimedIn,
    }
  if (answer.version !== version) return { rule: 'version', text: `returns version ${answer.version}, expected ${version}` }
  if (answer.previous !== first.status)
    return { rule: 'claim', text: `returns ${answer.previous} as the previous status of the run ${runId}, expected ${first.status}` }
  const waiting = [...model.inbox.keys()].filter((id) => model.inbox.get(id)?.kind !== 'taken')
  const unseen = waiting.find((id) => !answer.inbox.includes(id)) ?? answer.inbox.find((id) => !waiting.includes(id))
  if (unseen !== undefined)
    return { rule: 'read', text: `returns the inbox rows [${answer.inbox.join(', ')}], expected [${waiting.join(', ')}]` }
  return Boolean(answer.stop) === Boolean(run.stop)
    ? undefined
    : {
        rule: 'stop',
        text: `returns ${answer.stop ? 'a' : 'no'} stop request for the run ${runId}, but ${run.stop ? 'one' : 'none'} is stored`,
      }
}
