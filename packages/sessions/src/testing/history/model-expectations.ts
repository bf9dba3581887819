import type { Expect } from '../../contract/batch.ts'
import { modelStatus, type Contradiction, type SessionModel } from './session-model.ts'

/** Returns true if the model can evaluate the expectation. */
export function isKnown(expect: Expect): boolean {
  return expect.that !== 'timer' && !(expect.that === 'session' && expect.alive)
}

/** Returns the first broken expectation. Expectations that the model cannot evaluate count as held. */
export function checkExpectations(model: SessionModel, expect: readonly Expect[]): Contradiction | undefined {
  for (const each of expect) {
    const text = brokenBy(model, each)
    if (text !== undefined) return each.that === 'fence' ? { rule: 'fence', text, since: model.runs.get(each.runId)?.claimedIn } : { rule: 'expectation', text }
  }
  return undefined
}

/** Returns why the expectation does not hold, or undefined if it does. */
export function brokenBy(model: SessionModel, expect: Expect): string | undefined {
  const { record } = model
  switch (expect.that) {
    case 'session':
      if (expect.id === null) return record.id === null ? undefined : 'it expects no session, and there is one'
      if (record.id !== expect.id) return `it expects the session ${expect.id}, and there is ${record.id ?? 'none'}`
      return (expect.version ?? record.version) === record.version ? undefined : `it expects version ${expect.version}, and the session has version ${record.version}`
    case 'fence': {
      const run = model.runs.get(expect.runId)
      if (run?.status === 'running' && run.epoch === expect.epoch) return undefined
      return `it writes under epoch ${expect.epoch} of ${expect.runId}, which ${run ? `is ${run.status} under epoch ${run.epoch} of ${run.owner ?? 'nobody'}` : 'is not there'}`
    }
    case 'run': {
      const run = model.runs.get(expect.runId)
      if (!run || !expect.status.some((status) => modelStatus(status) === run.status)) return `it expects that ${expect.runId} is ${expect.status.join(' or ')}, and it is ${run?.status ?? 'not there'}`
      return expect.notStopping && run.stop ? `it expects that ${expect.runId} is not to be stopped, and it is` : undefined
    }
    case 'idle':
    case 'none-queued':
    case 'some-queued':
    case 'queue-below':
      return brokenByQueue(model, expect)
    case 'leaf':
      return record.leaf === expect.entryId ? undefined : `it expects the leaf ${expect.entryId ?? 'none'}, and the leaf is ${record.leaf ?? 'none'}`
    case 'inbox-empty':
      return countInbox(model, expect.kinds) === 0 ? undefined : `it expects that no ${expect.kinds.join(' or ')} waits, and one does`
    case 'inbox-below':
      return countInbox(model, [expect.kind]) < expect.max ? undefined : `it expects that fewer than ${expect.max} rows wait, and more do`
    case 'timer':
      return undefined
    default: {
      const unknown: never = expect
      return unknown
    }
  }
}

function brokenByQueue(model: SessionModel, expect: Extract<Expect, { that: 'idle' | 'none-queued' | 'some-queued' | 'queue-below' }>): string | undefined {
  const open = model.open()
  switch (expect.that) {
    case 'idle':
      return open.every(({ kind }) => expect.exceptCompaction && kind === 'compaction') ? undefined : 'it expects that no run is open, and one is'
    case 'none-queued':
      return open.every(({ id }) => id === expect.except) ? undefined : `it expects that no run but ${expect.except} is open, and one is`
    case 'some-queued':
      return open.some(({ id }) => id !== expect.except) ? undefined : `it expects that a run besides ${expect.except} is open, and none is`
    default:
      return open.filter(({ status }) => status === 'queued').length < expect.max ? undefined : `it expects that fewer than ${expect.max} runs are queued, and more are`
  }
}

function countInbox({ inbox }: SessionModel, kinds: readonly string[]): number {
  let count = 0
  for (const { kind } of inbox.values()) if (kinds.includes(kind)) count++
  return count
}
