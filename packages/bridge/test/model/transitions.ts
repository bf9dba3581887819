import type { BridgeNotice } from '../../src/index.ts'

const sessionSteps: readonly string[] = [
  ...['none>active', 'none>busy', 'active>busy', 'idle>busy', 'busy>idle', 'busy>failed', 'active>failed', 'idle>failed'],
  ...['active>over', 'idle>over', 'busy>over', 'failed>over'],
]

const going = ['queued', 'running', 'awaiting-approval', 'awaiting-tools']
const ends = ['completed', 'aborted', 'error', 'halted', 'limit']

/** Follows the notices of a bridge and records every illegal transition of sessions and requests. */
export class Transitions {
  readonly illegal: string[] = []
  readonly sessions = new Map<string, string>()
  readonly requests = new Map<string, string>()

  readonly see = (notice: BridgeNotice): void => {
    if (notice.type === 'session-changed') this.#seeSession(notice)
    if (notice.type === 'request-changed') this.#seeRequest(notice)
  }

  #seeSession({ sessionId, from, to }: Extract<BridgeNotice, { type: 'session-changed' }>): void {
    const known = this.sessions.get(sessionId) ?? 'none'
    if (known !== from || !sessionSteps.includes(`${from}>${to}`)) this.illegal.push(`${sessionId}, ${known}: ${from}>${to}`)
    this.sessions.set(sessionId, to)
  }

  #seeRequest({ requestId, from, to }: Extract<BridgeNotice, { type: 'request-changed' }>): void {
    const known = this.requests.get(requestId)
    const isLegal = going.includes(from) && (ends.includes(to) || (going.includes(to) && to !== 'queued' && from !== to))
    if ((known !== undefined && known !== from) || !isLegal) this.illegal.push(`${requestId}, ${known}: ${from}>${to}`)
    this.requests.set(requestId, to)
  }
}
