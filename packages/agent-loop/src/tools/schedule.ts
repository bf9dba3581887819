import type { Call } from './call.ts'
import { isSettled } from './call.ts'

/**
 * The pending calls that may start now, in call order. A sequential call waits for all earlier ones and holds back all
 * later ones; calls that were given away stand beside the queue.
 */
export function startable(calls: readonly Call[], toolConcurrency: number): readonly Call[] {
  const running = calls.filter((call) => call.running)
  const chosen: Call[] = []
  let openBefore = false
  for (const call of calls) {
    if (isSettled(call) || call.row.state === 'remote') continue
    const { tool, row } = call
    if (row.state === 'pending') {
      if (tool?.sequential && openBefore) break
      const busy = running.length + chosen.length
      const ofTool = [...running, ...chosen].filter((other) => other.tool === tool).length
      if (busy < toolConcurrency && ofTool < (tool?.concurrency ?? Infinity)) chosen.push(call)
    }
    if (tool?.sequential) break
    openBefore = true
  }
  return chosen
}
