import type { Expect } from '../../../src/contract/batch.ts'
import { modelStatus, type Contradiction, type SessionModel } from './session-model.ts'

/** Returns true if the model can evaluate the expectation. */
export function isKnown(expect: Expect): boolean {
  return expect.that !== 'timer' && !(expect.that === 'session' && expect.alive)
}

/** Returns the first broken expectation. Expectations that the model cannot evaluate count as held. */
export function checkExpectations(model: SessionModel, expect: readonly Expect[]): Contradiction | undefined {
  for (const each of expect) {
    const text = brokenBy(model, each)
    if (text !== undefined)
      return each.that === 'fence' ? { rule: 'fence', text, since: model.runs.get(each.runId)?.claimedIn } : { rule: 'expectation', text }
  }
  return undefined
}

/** Returns why the expectation does not hold, or undefined if it does. */
export function brokenBy(model: SessionModel, expect: Expect): string | undefined {
  const { record } = model
  switch (expect.that) {
    case 'session':
      if (expect.id === null) return record.id === null ? undefined : 'expects no session, but the session exists'
      if (record.id !== expect.id)
        return `expects the session id ${expect.id}, but ${record.id === null ? 'the session does not exist' : `it is ${record.id}`}`
      return (expect.version ?? record.version) === record.version
        ? undefined
        : `expects version ${expect.version}, but the session has version ${record.version}`
    case 'fence': {
      const run = model.runs.get(expect.runId)
      if (run?.status === 'running' && run.epoch === expect.epoch) return undefined
      return `writes under epoch ${expect.epoch} of the run ${expect.runId}, ${run ? `but the run is ${run.status} with epoch ${run.epoch} of ${run.owner ?? 'no process'}` : 'which does not exist'}`
    }
    case 'run': {
      const run = model.runs.get(expect.runId)
      if (!run || !expect.status.some((status) => modelStatus(status) === run.status))
        return `expects the run ${expect.runId} to be ${expect.status.join(' or ')}, but it ${run ? `is ${run.status}` : 'does not exist'}`
      return expect.notStopping && run.stop ? `expects no stop request for the run ${expect.runId}, but one is stored` : undefined
    }
    case 'idle':
    case 'none-queued':
    case 'some-queued':
    case 'queue-below':
      return brokenByQueue(model, expect)
    case 'leaf':
      return record.leaf === expect.entryId
        ? undefined
        : `expects the leaf ${expect.entryId ?? 'none'}, but the leaf is ${record.leaf ?? 'none'}`
    case 'inbox-empty':
      return countInbox(model, expect.kinds) === 0
        ? undefined
        : `expects no ${expect.kinds.join(' or ')} row in the inbox, but the inbox has ${countInbox(model, expect.kinds)}`
    case 'inbox-below':
      return countInbox(model, [expect.kind]) < expect.max
        ? undefined
        : `expects fewer than ${expect.max} ${expect.kind} rows in the inbox, but the inbox has ${countInbox(model, [expect.kind])}`
    case 'timer':
      return undefined
    default: {
      const unknown: never = expect
      return unknown
    }
  }
}

function brokenByQueue(
  model: SessionModel,
  expect: Extract<Expect, { that: 'idle' | 'none-queued' | 'some-queued' | 'queue-below' }>,
): string | undefined {
  const open = model.open()
  const count = (): number => open.filter(({ status }) => status === 'queued').length
  switch (expect.that) {
    case 'idle':
      return open.every(({ kind }) => expect.exceptCompaction && kind === 'compaction')
        ? undefined
        : `expects no open run, but ${idsOf(open)} is open`
    case 'none-queued':
      return open.every(({ id }) => id === expect.except)
        ? undefined
        : `expects no open run except ${expect.except}, but ${idsOf(open.filter(({ id }) => id !== expect.except))} is open`
    case 'some-queued':
      return open.some(({ id }) => id !== expect.except)
        ? undefined
        : `expects an open run besides ${expect.except}, but the session has none`
    default:
      return count() < expect.max ? undefined : `expects fewer than ${expect.max} queued runs, but the session has ${count()}`
  }
}

function idsOf(runs: readonly { readonly id: string }[]): string {
  return runs.map(({ id }) => id).join(', ')
}

function countInbox({ inbox }: SessionModel, kinds: readonly string[]): number {
  let count = 0
  for (const { kind } of inbox.values()) if (kinds.includes(kind)) count++
  return count
}
