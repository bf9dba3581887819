import type { Tool } from '../contract/agent.ts'
import { awaitsApproval, isSettled } from './call.ts'
import type { Call } from './call.ts'

/**
 * The calls that may start now, or enter their subagent again, in call order. A sequential call waits for all earlier ones and holds back all
 * later ones; calls that were given away stand beside the queue, and those that wait for a decision in it.
 */
export function startable(calls: readonly Call[], toolConcurrency: number): readonly Call[] {
  const busy = new Map<Tool | undefined, number>()
  const take = ({ tool }: Call): unknown => busy.set(tool, (busy.get(tool) ?? 0) + 1)
  // A question to somebody takes no place.
  const running = calls.filter((call) => call.running && call.row.state === 'started')
  for (const call of running) take(call)
  const chosen: Call[] = []
  let openBefore = false
  for (const call of calls) {
    if (running.length + chosen.length >= toolConcurrency) break
    if (isSettled(call) || call.row.state === 'remote') continue
    const { tool, row } = call
    if (row.state === 'pending' || call.entering) {
      if (tool?.sequential && openBefore) break
      if (!awaitsApproval(call) && (busy.get(tool) ?? 0) < (tool?.concurrency ?? Infinity)) {
        chosen.push(call)
        take(call)
      }
    }
    if (tool?.sequential) break
    openBefore = true
  }
  return chosen
}
