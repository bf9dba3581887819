import assert from 'node:assert/strict'
import { appendEntries, appendEvents, mark, openCall, patchRun, putCalls, settledCall, startMs, userEntry } from '../core/rules/bench.ts'
import type { Bench } from '../core/rules/bench.ts'
import type { Topic } from '../core/rules/kit.ts'

const sampleSteps = 20

/** Writes steps as a run does: calls with results, entries and events. */
async function writeSteps(bench: Bench, from: number, count: number): Promise<void> {
  const expect = [{ that: 'fence', runId: 'run-1', epoch: 1 } as const]
  for (let step = from; step < from + count; step++) {
    const call = { runId: 'run-1', step, toolCallId: 'call' }
    const parentId = step === 1 ? null : `result-${step - 1}`
    await bench.commit(
      [
        putCalls(openCall('run-1', 'call', { step })),
        appendEntries(userEntry(`asked-${step}`, parentId, 'x'.repeat(500))),
        appendEvents({ event: { type: 'message-end', at: startMs, step }, refers: { entryId: `asked-${step}` } }),
        patchRun('run-1', { step, attempts: 0 }),
      ],
      { expect },
    )
    await bench.commit(
      [
        putCalls(settledCall('run-1', 'call', { step })),
        appendEntries({ id: `result-${step}`, parentId: `asked-${step}`, type: 'message', at: startMs, call }),
        appendEvents({ event: { type: 'tool-execution-end', at: startMs, step }, refers: { call } }, mark('next')),
      ],
      { expect },
    )
  }
}

/** Tests that the cost of a commit does not grow with the session. Only for stores that can report the bytes they write. */
export const growth: Topic = ({ it, place }) => {
  it('S54: the bytes of a commit after 1,000 others are those after 20', async (bench) => {
    await bench.running('run-1')
    await writeSteps(bench, 1, 10)
    const early = await place.bytesWritten?.(bench.store, () => writeSteps(bench, 11, sampleSteps))
    await writeSteps(bench, 11 + sampleSteps, 500 - sampleSteps - 10)
    const late = await place.bytesWritten?.(bench.store, () => writeSteps(bench, 501, sampleSteps))
    assert.ok(early && late && late <= early * 1.1, `${late} bytes against ${early}`)
  })
}
