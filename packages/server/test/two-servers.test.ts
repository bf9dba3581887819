import { emptyView, reduceEvents, type AgentEvent } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'
import { bench, gate, localTool, say } from './support/bench.ts'
import { allFrames, eventsOf, framesUntil, type Frame } from './support/frames.ts'

const events = '/api/agent/session/mine/events'
const isSettled = (frame: Frame) => frame.data.type === 'settled'
const fold = (list: readonly AgentEvent[]) => list.reduce(reduceEvents, emptyView)
const isDurable = ({ data }: Frame) => 'seq' in data

it('V41: commits of another process arrive through the log at once, in the same order and with the same cursors', async () => {
  const store = memoryStore()
  const hold = gate()
  const steps = [{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'Seen it all.', chunk: 4 }]
  const executing = await bench({ store, steps, tools: [localTool('look', () => hold.passed.then(() => 'seen'))] })
  // The clock of the reading server stands still, so it delivers without any wait.
  const clock = manualClock()
  const reading = await bench({ store, runtimeOptions: { clock, concurrency: 0 } })
  const execute = await executing.execute({ sessionId: 'mine', input: say('hi'), context: {} })
  const here = framesUntil(await executing.get(`${events}?from=start`), isSettled)
  const elsewhere = framesUntil(await reading.get(`${events}?from=start`), isSettled)
  const untilTool = await framesUntil(await reading.get(events), ({ data }) => data.type === 'tool-execution-start')
  hold.open()
  await allFrames(execute)
  const resumed = framesUntil(await reading.get(events, { 'last-event-id': untilTool.at(-1)?.id ?? '' }), isSettled)
  const durable = (await here).filter(isDurable)
  expect((await elsewhere).filter(isDurable)).toEqual(durable)
  expect([...untilTool, ...(await resumed)].filter(isDurable)).toEqual(durable.slice(1))
  expect(fold(eventsOf(await elsewhere))).toEqual(fold(eventsOf(await here)))
  expect([executing.faults, reading.faults]).toEqual([[], []])
})
