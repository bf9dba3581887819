import { messageOf } from '../../base/agent-error.ts'
import type { Turn } from '../../kernel/turn.ts'

/** Asks a function of the agent itself. What it decides cannot be guessed: if it fails, the turn ends as an error. */
export async function askOwner<Value>(turn: Turn, name: string, ask: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await turn.stop.until(ask())
  } catch (error) {
    if (turn.stop.requested) return undefined
    const message = messageOf(error)
    turn.log.record({ type: 'error', source: 'extension', name, message, fatal: true })
    turn.stop.stop({ kind: 'stop', status: 'error', reason: 'extension-error', error: { code: 'extension-error', message: `${name}: ${message}` } })
    return undefined
  }
}
