import { inProcessExecutor, runtimeAgent } from '@bowline/bridge'
import type { Runtime } from '@bowline/sessions'

declare const runtime: Runtime // yours, with an agent `writer`
export const executor = inProcessExecutor({ agents: [runtimeAgent(runtime, { agent: 'writer' })] })

export {}
