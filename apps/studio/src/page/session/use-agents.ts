import type { AgentSummary, Client } from '@bowline/client'
import { useEffect, useState } from 'react'

export interface AgentChoice {
  readonly list: readonly AgentSummary[]
  /** The id of the agent that a new session gets. */
  readonly chosen: string
  readonly onChoose: (id: string) => void
}

/** The agents of the server, read again for every `reason`. Undefined if there is nothing to choose. */
export function useAgents(client: Client, reason: string): AgentChoice | undefined {
  const [list, setList] = useState<readonly AgentSummary[]>([])
  const [chosen, setChosen] = useState<string>()
  useEffect(() => {
    const leaving = new AbortController()
    client.agents({ abortSignal: leaving.signal }).then(
      setList,
      // A token without `agents:read` gets the default agent. The conversation tells what is wrong with the connection.
      () => undefined,
    )
    return () => leaving.abort()
  }, [client, reason])
  const known = list.find(({ id }) => id === chosen) ?? list.find((agent) => agent.default) ?? list[0]
  return known && list.length > 1 ? { list, chosen: known.id, onChoose: setChosen } : undefined
}
