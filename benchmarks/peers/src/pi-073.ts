import { agentLoop } from '@mariozechner/pi-agent-core'
import { parseStreamingJson, Type } from '@mariozechner/pi-ai'
import { contenderOf } from './pi-loop.ts'

export const contender = contenderOf({ agentLoop, parseStreamingJson, Type, packageUrl: import.meta.resolve('@mariozechner/pi-agent-core') })
