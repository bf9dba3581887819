import { describe, it } from 'vitest'
import { inProcessExecutor } from '@bowline/bridge'
import { kitAgent, testBridgeExecutor } from '@bowline/testing/executors'

testBridgeExecutor({
  name: 'in process',
  executor(limits) {
    const notes: string[] = []
    const agent = kitAgent({ note: (line) => notes.push(line) })
    return { executor: inProcessExecutor({ agents: [agent], ...limits }), notes: () => notes }
  },
  runner: { describe, it },
})
