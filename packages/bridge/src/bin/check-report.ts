import type { Bridge, ListedAgent } from '../bridge-contract.ts'

export interface CheckReport {
  /** One line for each agent, and one for each executor that does not know its agents. */
  readonly lines: readonly string[]
  /** Whether every configured agent and executor can be used. */
  readonly isUsable: boolean
}

export function checkReport(bridge: Bridge): CheckReport {
  const agents = bridge.discover()
  const { executors } = bridge.health()
  const unusable = [
    ...executors.flatMap(({ kind, leftOut = [] }) => leftOut.map(({ id, reason }) => `unavailable ${id} (${kind}): ${reason}`)),
    ...executors.flatMap(({ kind, reason }) => (reason === undefined ? [] : [`unavailable ${kind}: ${reason}`])),
  ]
  if (agents.length + unusable.length === 0) return { lines: ['There are no agents'], isUsable: false }
  return { lines: [...agents.map(lineOf), ...unusable], isUsable: unusable.length === 0 && agents.every(isReady) }
}

function lineOf({ status, id, executor, default: isDefault, reason }: ListedAgent): string {
  return `${status} ${id} (${executor}${isDefault ? ', default' : ''})${reason === undefined ? '' : `: ${reason}`}`
}

function isReady({ status }: ListedAgent): boolean {
  return status === 'ready' || status === 'busy'
}
