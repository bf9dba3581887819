import type { AgentSummary, Client } from '@bowline/client'
import { useEffect, useState } from 'react'
import { loadFacts } from '../parts/load-patiently.ts'

export interface AgentChoice {
  readonly list: readonly AgentSummary[]
  /** Id of the agent for a new session. */
  readonly chosen: string
  readonly onChoose: (id: string) => void
}

/** Returns the agents of the server, read again for each new `reason`. Returns undefined if there is no choice. */
export function useAgents(client: Client, reason: string): AgentChoice | undefined {
  const [list, setList] = useState<readonly AgentSummary[]>([])
  const [chosen, setChosen] = useState<string>()
  useEffect(() => {
    const leaving = new AbortController()
    loadFacts((abortSignal) => client.agents({ abortSignal }), leaving.signal).then(
      setList,
      // A token without `agents:read` uses the default agent. The conversation reports errors of the connection.
      () => undefined,
    )
    return () => leaving.abort()
  }, [client, reason])
  const known = list.find(({ id }) => id === chosen) ?? list.find((agent) => agent.default) ?? list[0]
  return known && list.length > 1 ? { list, chosen: known.id, onChoose: setChosen } : undefined
}
