import { messageOf } from '../agent-error.ts'
import type { Turn } from './turn.ts'

/** Asks a function of the agent itself. What it decides cannot be guessed: when it fails, the turn ends as an error. */
export async function askOwner<Value>(turn: Turn, name: string, ask: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await untilAborted(ask(), turn.stop.signal)
  } catch (error) {
    if (turn.stop.signal.aborted) return undefined
    const message = messageOf(error)
    turn.record({ type: 'error', source: 'extension', name, message, fatal: true })
    turn.stop.stop({ kind: 'stop', status: 'error', reason: 'extension-error', error: { code: 'extension-error', message: `${name}: ${message}` } })
    return undefined
  }
}

/** A function that hangs must not hold a run that is being stopped. */
export function untilAborted<Value>(asked: Value | Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    void Promise.resolve(asked)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}
