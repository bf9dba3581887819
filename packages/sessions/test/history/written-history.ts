import { checkHistory, type HistoryProblem } from '../explorers/history/check-history.ts'
import { readHistory } from '../explorers/history/read-history.ts'
import type { History, HistoryOperation } from '../explorers/history/operations.ts'
import { expect } from 'vitest'

type Call = HistoryOperation['call']
type Answer = NonNullable<HistoryOperation['answer']>
type Batch = Extract<Call, { what: 'commit' }>['batch']
type Writes = Batch['writes']

/** A call that is answered later, or never. */
export interface OpenCall {
  readonly id: string
  answer(answer: Answer): string
}

const key = 'room:1'
const session = 'session-1'

/** A history of one session that a test writes line by line. Each line is one moment after the previous one. */
export class WrittenHistory {
  readonly #lines = new Map<string, object[]>()
  #moment = 0
  #batches = 0

  /** Starts a call. */
  call(process: string, call: Call): OpenCall {
    const lines = this.#lines.get(process) ?? []
    this.#lines.set(process, lines)
    const n = lines.filter((line) => 'call' in line).length + 1
    lines.push({ process, n, at: ++this.#moment, call })
    return {
      id: `${process}#${n}`,
      answer: (answer) => {
        lines.push({ process, n, at: ++this.#moment, answer })
        return `${process}#${n}`
      },
    }
  }

  /** Adds a call with its answer. Returns its name. */
  operation(process: string, call: Call, answer: Answer): string {
    return this.call(process, call).answer(answer)
  }

  batch(expected: Batch['expect'], writes: Writes, id = `batch-${++this.#batches}`): Call {
    return { what: 'commit', batch: { id, key, expect: expected, writes } }
  }

  commit(
    process: string,
    batch: Call,
    [version, firstSeq, lastSeq]: readonly [version: number, firstSeq: number, lastSeq: number],
  ): string {
    return this.operation(process, batch, { ok: true, sessionId: session, version, firstSeq, lastSeq })
  }

  history(): History {
    return readHistory([...this.#lines.values()].map((lines) => lines.map((line) => JSON.stringify(line)).join('\n')))
  }
}

export const acceptFirst: readonly [Batch['expect'], Writes] = [
  [{ that: 'session', id: null }],
  [
    { op: 'session.ensure', id: session },
    { op: 'run.insert', id: 'run-1', kind: 'user', inputId: 'input-1' },
    { op: 'event.append', events: [{ type: 'session-start' }, { type: 'run-queued', runId: 'run-1' }] },
  ],
]

export const acceptAgain = (runId: string, inputId: string): readonly [Batch['expect'], Writes] => [
  [
    { that: 'session', id: session, alive: true },
    { that: 'queue-below', max: 1000 },
  ],
  [
    { op: 'run.insert', id: runId, kind: 'user', inputId },
    { op: 'event.append', events: [{ type: 'run-queued', runId }] },
  ],
]

export const fence = (epoch: number, runId = 'run-1'): Batch['expect'] => [
  { that: 'session', id: session },
  { that: 'fence', runId, epoch },
]

export const begin = (epoch: number): readonly [Batch['expect'], Writes] => [
  fence(epoch),
  [
    { op: 'entry.append', entries: [{ id: 'message-1', parentId: null, isMessage: true }] },
    { op: 'event.append', events: ['turn-start', 'user-message', 'step-start', 'message-start'].map((type) => ({ type, runId: 'run-1' })) },
    { op: 'run.patch', runId: 'run-1' },
  ],
]

export const step = (epoch: number): readonly [Batch['expect'], Writes] => [
  fence(epoch),
  [
    {
      op: 'event.append',
      events: [
        { type: 'message-end', runId: 'run-1' },
        { type: 'message-start', runId: 'run-1' },
      ],
    },
  ],
]

export const end = (epoch: number): readonly [Batch['expect'], Writes] => [
  fence(epoch),
  [
    { op: 'entry.append', entries: [{ id: 'message-2', parentId: 'message-1', isMessage: true }] },
    {
      op: 'event.append',
      events: [
        { type: 'message-end', runId: 'run-1' },
        { type: 'turn-end', runId: 'run-1', status: 'completed' },
      ],
    },
    { op: 'run.patch', runId: 'run-1', status: 'completed' },
  ],
]

export const claimed = (epoch: number, version: number, previous: 'queued' | 'running' = 'queued'): Answer => ({
  claims: [{ key, runId: 'run-1', epoch, version, previous, inbox: [] }],
})
export const seen = (version: number, nextSeq: number, leaf: string | null): Answer => ({
  status: 'found',
  id: session,
  version,
  nextSeq,
  leaf,
})
export const reads: Call = { what: 'readSession', key }
export const claims: Call = { what: 'claim' }

/** Returns a history in which `a` accepts an input, claims its run and starts it. */
export function begun(): WrittenHistory {
  const written = new WrittenHistory()
  const send = written.call('a', { what: 'send', key, inputId: 'input-1' })
  written.commit('a', written.batch(...acceptFirst), [1, 1, 2])
  send.answer({ runId: 'run-1', accepted: 'queued' })
  written.operation('a', claims, claimed(1, 2))
  written.commit('a', written.batch(...begin(1)), [3, 3, 6])
  return written
}

/** Returns the same history, with the answer of `a`. */
export function answered(): WrittenHistory {
  const written = begun()
  written.commit('a', written.batch(...end(1)), [4, 7, 8])
  return written
}

/** Returns the only problem of the history. */
export function rejected(written: WrittenHistory, options?: Parameters<typeof checkHistory>[1]): HistoryProblem {
  const { problems } = checkHistory(written.history(), options)
  const [problem] = problems
  if (!problem) throw new Error('the history was accepted')
  expect(problems).toHaveLength(1)
  return problem
}

export function idsOf({ operations }: HistoryProblem): readonly string[] {
  return operations.map(({ id }) => id)
}
