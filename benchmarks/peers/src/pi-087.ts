import { agentLoop } from '@earendil-works/pi-agent-core'
import { parseStreamingJson, Type } from '@earendil-works/pi-ai'
import { contenderOf, type Pi } from './pi-loop.ts'

export const contender = contenderOf({
  // Both versions are called in the same way. The types of 0.73 do not fit this version.
  agentLoop: agentLoop as unknown as Pi['agentLoop'],
  parseStreamingJson,
  Type,
  packageUrl: import.meta.resolve('@earendil-works/pi-agent-core'),
})
