import { emptyView, reduceEvents, type AgentEvent } from '@bowline/agent-loop/events'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { measure, type Bench } from './harness.ts'

const sizes = [10_000, 100_000, 400_000]

export const bench: Bench = {
  title: 'Fold of the events',
  text: 'All events of a run with one message of so many text deltas, folded by `reduceEvents` one after the other: what a page does that shows the run.',
  async run() {
    const rows: string[][] = []
    for (const deltas of sizes) {
      const events = await eventsOfRun(deltas)
      const [result] = await measure([{ name: 'fold', run: () => fold(events, deltas) }], { warmups: 400_000 / deltas })
      if (result === undefined) throw new Error('Nothing was measured')
      rows.push([deltas.toLocaleString('en'), result.medianMs.toFixed(1), ((result.medianMs * 1000) / deltas).toFixed(2)])
    }
    return { head: ['deltas', 'ms', 'µs/delta'], rows }
  },
}

async function eventsOfRun(deltas: number): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of contenderAgent(functionModel([{ text: deltas }]), 1).run('go')) events.push(event)
  return events
}

function fold(events: readonly AgentEvent[], deltas: number): void {
  let view = emptyView
  let longest = 0
  for (const event of events) {
    view = reduceEvents(view, event)
    const block = view.open?.blocks[0]
    if (block?.type === 'text') longest = block.text.length
  }
  if (longest !== deltas * 4 || view.messages.length !== 2) throw new Error(`${longest} of ${deltas * 4} characters arrived`)
}
