import { createBridge, delegateTool, inProcessExecutor, runtimeAgent, workerExecutor } from '@bowline/bridge'
import type { Bridge, BridgeLogger } from '@bowline/bridge'
import type { Tool } from '@bowline/agent-loop'
import type { Runtime, SessionStore } from '@bowline/sessions'

export const colleagueName = 'colleague'

export interface DemoBridge {
  readonly bridge: Bridge
  /** Tool with which an agent delegates work. It waits until the bridge has started. */
  readonly tool: Tool
  /** Sets the runtime that executes the colleague. Must be called before the bridge starts. */
  readonly join: (runtime: Runtime) => void
}

const faultsOnly: BridgeLogger = {
  debug: () => {},
  info() {},
  warn: (fields, message) => console.error(`bridge: ${message}`, fields),
  error: (fields, message) => console.error(`bridge: ${message}`, fields),
}

/** Creates two agents to delegate to: one in its own process, and one in the same runtime. */
export function createDemoBridge(store: SessionStore, speed: number): DemoBridge {
  const local = inProcessExecutor({ agents: [] })
  const workers = workerExecutor({
    workers: [{ id: 'worker', entry: `${import.meta.dirname}/worker-program.ts`, env: { DEMO_SPEED: String(speed) } }],
  })
  const bridge = createBridge({ executors: [workers, local], store: store.state, logger: faultsOnly })
  const delegate = delegateTool(bridge, {
    agents: ['worker', colleagueName],
    description:
      'Hands a task to another agent and gives its answer. The worker knows how much rope a splice needs; the colleague gives second opinions.',
  })
  // The bridge takes half a second to start. The server does not wait for it, so a delegation must.
  const tool: Tool = {
    ...delegate,
    async execute(input, context) {
      await bridge.start()
      return delegate.execute?.(input, context)
    },
  }
  return { bridge, tool, join: (runtime) => local.add(runtimeAgent(runtime, { agent: colleagueName })) }
}
