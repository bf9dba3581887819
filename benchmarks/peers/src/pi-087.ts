import { agentLoop } from '@earendil-works/pi-agent-core'
import { parseStreamingJson, Type } from '@earendil-works/pi-ai'
import { contenderOf, type Pi } from './pi-loop.ts'

export const contender = contenderOf({
  // What is handed to it here is the same in both versions.
  agentLoop: agentLoop as unknown as Pi['agentLoop'],
  parseStreamingJson,
  Type,
  packageUrl: import.meta.resolve('@earendil-works/pi-agent-core'),
})
