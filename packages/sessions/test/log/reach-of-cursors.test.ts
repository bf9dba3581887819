import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { LiveLog } from '../../src/log/live-log.ts'
import { readLog, type LogReading } from '../../src/log/read-log.ts'

/** Creates a log that keeps the events 5 to 9 of a session. */
function reading(seq: number): LogReading {
  const events = [5, 6, 7, 8, 9].map((each) => ({ type: 'save-point', at: 1, runId: 'r1', turn: 1, seq: each }) as LoggedEvent)
  const readEvents = async (_key: string, after: number, limit: number) => ({
    sessionId: 's1',
    firstSeq: 5,
    lastSeq: 9,
    events: events.filter((event) => 'seq' in event && (event.seq ?? 0) > after).slice(0, limit),
  })
  return {
    store: { readEvents },
    liveLog: new LiveLog(),
    clock: manualClock(),
    key: 'room:1',
    from: () => ({ seq, n: 0 }),
    live: false,
    isResting: async () => false,
  } as unknown as LogReading
}

async function seqsFrom(seq: number): Promise<readonly unknown[]> {
  const seen: unknown[] = []
  for await (const event of readLog(reading(seq))) seen.push('seq' in event && event.seq)
  return seen
}

describe('S120: valid cursors', () => {
  it('S120: point to the place after a kept event, or right before the first one', async () => {
    expect(await seqsFrom(4)).toEqual([5, 6, 7, 8, 9])
    expect(await seqsFrom(8)).toEqual([9])
    expect(await seqsFrom(9)).toEqual([])
  })

  it('S120: an earlier cursor has expired, and the error says where the log begins; a later cursor is ahead', async () => {
    for (const seq of [0, 3]) await expect(seqsFrom(seq)).rejects.toMatchObject({ code: 'cursor-expired', firstSeq: 5 })
    await expect(seqsFrom(10)).rejects.toMatchObject({ code: 'cursor-ahead' })
  })
})
