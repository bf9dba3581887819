import { describe, it } from 'vitest'
import { inProcessExecutor } from '../../src/index.ts'
import { kitAgent, testBridgeExecutor } from '../../src/testing/index.ts'

testBridgeExecutor({
  name: 'in process',
  executor(limits) {
    const notes: string[] = []
    const agent = kitAgent({ note: (line) => notes.push(line) })
    return { executor: inProcessExecutor({ agents: [agent], ...limits }), notes: () => notes }
  },
  runner: { describe, it },
})
