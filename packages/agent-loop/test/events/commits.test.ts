import { describe, expect, it } from 'vitest'
import { commitsOf } from '../../src/events/index.ts'
import type { AgentEvent, CommitMark } from '../../src/events/index.ts'

const event = (seq: number, commit?: CommitMark, runId = 'r1'): AgentEvent => ({
  type: 'save-point',
  at: seq * 10,
  runId,
  turn: 1,
  seq,
  ...(commit && { commit }),
})
const delta: AgentEvent = { type: 'text-delta', at: 1, runId: 'r1', turn: 1, step: 1, messageId: 'm', index: 0, delta: 'x' }
const log: readonly AgentEvent[] = [
  event(1, { owner: 'p1' }),
  event(2, { owner: 'p1', epoch: 1 }),
  event(3),
  event(4),
  event(5, { owner: 'p2', epoch: 4, runId: 'child' }),
  event(6, { owner: 'p1', epoch: 1 }),
]
const commits = [
  { firstSeq: 1, lastSeq: 1, at: 10, owner: 'p1' },
  { firstSeq: 2, lastSeq: 4, at: 40, owner: 'p1', runId: 'r1', epoch: 1 },
  { firstSeq: 5, lastSeq: 5, at: 50, owner: 'p2', runId: 'child', epoch: 4 },
  { firstSeq: 6, lastSeq: 6, at: 60, owner: 'p1', runId: 'r1', epoch: 1 },
]

describe('D55: the commits of a log', () => {
  it('D55: begin at each mark, and name their writer and its claim', () => {
    expect(commitsOf(log)).toEqual(commits)
    expect(commitsOf([])).toEqual([])
  })

  it('D55: are the same whether the log is read at once or in pieces, with deltas between, repeats, and an end in the middle', () => {
    for (let cut = 0; cut <= log.length; cut++) {
      const [head, tail] = [log.slice(0, cut), log.slice(cut)]
      expect(commitsOf([delta, ...tail, delta], commitsOf(head))).toEqual(commits)
      expect(commitsOf([...head, ...tail], commitsOf(head))).toEqual(commits)
    }
    expect(commitsOf(log.slice(0, 3)).at(-1)).toMatchObject({ firstSeq: 2, lastSeq: 3, at: 30 })
  })

  it('D55: leave out parts that cannot be attributed: the rest of a commit that begins elsewhere, and a log without marks', () => {
    expect(commitsOf(log.slice(2))).toEqual(commits.slice(2))
    expect(commitsOf([...log.slice(0, 2), ...log.slice(3)])).toEqual([
      commits[0],
      { ...commits[1], lastSeq: 2, at: 20 },
      ...commits.slice(2),
    ])
    expect(commitsOf([event(1), event(2)])).toEqual([])
    const hostile = [null, 'x', { type: 'unknown', seq: 1, commit: {} }, { ...event(1, {}), seq: undefined }] as unknown as AgentEvent[]
    expect(commitsOf(hostile)).toEqual([])
    for (const none of [undefined, null, 1, {}]) expect(commitsOf(none as never, none as never)).toEqual([])
  })

  it('D55: a mark without a claim names no run, and the end of a deleted session names no process', () => {
    const end: AgentEvent = { type: 'session-end', at: 70, seq: 7, sessionKey: 'k', reason: 'deleted', commit: {} }
    expect(commitsOf([end], commits).at(-1)).toEqual({ firstSeq: 7, lastSeq: 7, at: 70 })
  })
})
