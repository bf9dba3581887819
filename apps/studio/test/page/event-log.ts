import type { AgentEvent } from '@bowline/agent-loop/events'

export type Facts = { readonly type: AgentEvent['type']; readonly [field: string]: unknown }

/** Creates a log: `commit` gives its events one time and the next numbers, `delta` gives only a time. */
export function log() {
  const events: AgentEvent[] = []
  let at = 1000
  let seq = 0
  return {
    events,
    commit(afterMs: number, ...facts: readonly Facts[]) {
      at += afterMs
      for (const [place, fact] of facts.entries())
        events.push({ ...run, ...fact, at, seq: ++seq, ...(place === 0 && { commit: { owner: 'rt_1', epoch: 1 } }) } as AgentEvent)
      return this
    },
    delta(afterMs: number, fact: Facts) {
      at += afterMs
      events.push({ ...run, ...fact, at } as AgentEvent)
      return this
    },
  }
}

const run = { runId: 'run_1', turn: 1, step: 1 }
const model = { provider: 'offline', modelId: 'bowline-offline' }

export const opening: Facts[] = [
  { type: 'user-message', messageId: 'u1' },
  { type: 'turn-start', resumed: false, attempt: 1 },
  { type: 'message-start', messageId: 'm1', attempt: 1, model },
]
