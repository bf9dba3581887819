import type { AgentEvent } from '@bowline/agent-loop/events'
import { describe, expect, it } from 'vitest'
import { emptyTimeline, foldTimeline } from '../../src/page/timeline/fold.ts'
import { assignTracks } from '../../src/page/timeline/lanes.ts'
import { createScale } from '../../src/page/timeline/scale.ts'
import { log, opening } from './event-log.ts'
import type { Facts } from './event-log.ts'

function started(toolCallId: string, toolName = 'get_weather'): Facts {
  return { type: 'tool-execution-start', toolCallId, toolName, input: {}, attempt: 1, idempotencyKey: toolCallId, effect: 'pure' }
}

function ended(toolCallId: string, status = 'result'): Facts {
  return { type: 'tool-execution-end', toolCallId, executed: 'here', durationMs: 1, message: { toolCallId, status } }
}

function fold(events: readonly AgentEvent[]) {
  return events.reduce(foldTimeline, emptyTimeline)
}

describe('the timeline', () => {
  it('draws a model call from its start to its end, and one tick per commit', () => {
    const { events } = log()
      .commit(0, ...opening)
      .commit(500, { type: 'message-end', messageId: 'm1', message: { stopReason: 'stop' } }, { type: 'turn-end', status: 'completed' })
    const timeline = fold(events)
    expect(timeline.spans).toEqual([
      { id: 'm1', lane: 'model', name: 'bowline-offline', startAt: 1000, startSeq: 3, endAt: 1500, outcome: 'stop' },
    ])
    expect(timeline.commits.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual([
      [1, 3],
      [4, 5],
    ])
    expect(timeline.turns).toEqual([{ runId: 'run_1', turn: 1, startAt: 1000, status: 'completed' }])
  })

  it('draws the duration of an approval and a compaction', () => {
    const { events } = log()
      .commit(0, ...opening)
      .commit(100, { type: 'approval-requested', toolCallId: 'a', toolName: 'get_weather', approvalId: 'ap1' })
      .commit(300, { type: 'approval-resolved', toolCallId: 'a', approvalId: 'ap1', decision: 'approve' }, started('a'))
      .commit(50, ended('a'))
      .commit(50, { type: 'compaction-start', compactionId: 'c1', trigger: 'threshold', tokensBefore: 1 })
      .commit(200, { type: 'compaction-end', compactionId: 'c1', outcome: 'done' })
    expect(fold(events).spans.slice(1)).toMatchObject([
      { id: 'a', lane: 'tools', startAt: 1100, endAt: 1400, outcome: 'approve' },
      { id: 'a', lane: 'tools', startAt: 1400, endAt: 1450, outcome: 'result' },
      { id: 'c1', lane: 'model', startAt: 1500, endAt: 1700, outcome: 'done' },
    ])
  })

  it('puts overlapping calls side by side, and later ones back on a free track', () => {
    const { events } = log()
      .commit(0, ...opening)
      .commit(100, started('a'), started('b'))
      .commit(100, ended('a'))
      .commit(50, started('c'))
      .commit(50, ended('b'))
    const tools = fold(events).spans.filter((span) => span.lane === 'tools')
    const { tracks, count } = assignTracks(tools)
    expect(tools.map((span) => [span.id, tracks.get(span)])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 0],
    ])
    expect(count).toBe(2)
  })

  it('D24: a takeover marks the gap from the last commit of the dead process, and crosses out lost work', () => {
    const { events } = log()
      .commit(0, ...opening)
      .commit(100, started('a'))
      .delta(300, { type: 'tool-execution-delta', toolCallId: 'a', delta: 'x' })
      .commit(2000, { type: 'turn-start', resumed: true, attempt: 2, cause: 'takeover' }, started('a'))
    const timeline = fold(events)
    expect(timeline.gaps).toEqual([{ startAt: 1100, endAt: 3400 }])
    expect(timeline.spans.filter((span) => span.id === 'a')).toEqual([
      { id: 'a', lane: 'tools', name: 'Get weather', startAt: 1100, startSeq: 4, endAt: 3400, outcome: 'lost', withdrawn: true },
      { id: 'a', lane: 'tools', name: 'Get weather', startAt: 3400, startSeq: 6 },
    ])
  })

  it('D27: the same log folds to the same picture with deltas, without them, and when records come twice', () => {
    const { events } = log()
      .commit(0, ...opening)
      .delta(20, { type: 'text-start', messageId: 'm1', index: 0 })
      .delta(20, { type: 'text-delta', messageId: 'm1', index: 0, delta: 'hi' })
      .commit(60, { type: 'message-end', messageId: 'm1', message: { stopReason: 'stop' } }, { type: 'turn-end', status: 'completed' })
    const durable = events.filter((event) => event.seq !== undefined)
    expect(fold(durable)).toEqual(fold(events))
    expect(fold([...events, ...durable])).toEqual(fold(events))
  })

  it('keeps the order of moments and shortens long waits', () => {
    const { events } = log()
      .commit(0, ...opening)
      .commit(1, started('a'))
      .commit(86_400_000, ended('a'))
    const timeline = fold(events)
    const scale = createScale(timeline)
    const places = timeline.commits.map((commit) => scale.at(commit.at))
    expect(places[1]).toBeGreaterThan(places[0] ?? 0)
    expect(places[2]).toBeGreaterThan(places[1] ?? 0)
    expect(scale.width).toBeLessThan(200)
  })
})
