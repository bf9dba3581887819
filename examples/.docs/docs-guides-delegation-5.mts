import { defineAgent } from '@bowline/agent-loop'
import { delegateTool, type Bridge } from '@bowline/bridge'
import type { LanguageModel } from 'ai'

declare const bridge: Bridge
declare const model: LanguageModel
export const writer = defineAgent({ name: 'writer', model, tools: [delegateTool(bridge, { agents: ['reviewer'] })] })

export {}
