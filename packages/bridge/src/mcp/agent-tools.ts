import type { JSONValue } from '@bowline/llm'
import { z } from 'zod'
import type { BridgeRedaction } from '../redact.ts'
import { agentListSchema, healthSchema } from './schemas.ts'
import { looks, tool } from './tool.ts'

export const bridgeHealth = tool({
  name: 'bridge_health',
  title: 'Bridge health',
  description: 'Says whether the bridge works and how much it has to do. Not needed before other calls; agents_discover lists the agents.',
  input: z.strictObject({}),
  output: healthSchema,
  annotations: looks,
  run: async ({ bridge, redaction }) => withoutPaths(bridge.health(), redaction),
})

export const agentsDiscover = tool({
  name: 'agents_discover',
  title: 'Discover agents',
  description:
    'Lists the agents that work can be given to, what each is for, and the providers and models it lets you choose. Call it first.',
  input: z.strictObject({
    capability: z.string().optional().describe('Only agents that list exactly this capability.'),
    refresh: z.boolean().optional().describe('Looks anew at every agent before it answers.'),
  }),
  output: agentListSchema,
  annotations: looks,
  run: async ({ bridge, redaction }, { capability, refresh }) => {
    // The first call may come before the first handshake is finished.
    if (refresh || bridge.discover().some(({ status }) => status === 'starting')) await bridge.refresh()
    return withoutPaths({ agents: bridge.discover(capability === undefined ? {} : { capability }) }, redaction)
  },
})

/** Reasons may contain programs and folders of this machine. */
function withoutPaths(answer: object, redaction: BridgeRedaction): object {
  return redaction.value(answer as unknown as JSONValue) as object
}
