import { createBridge, defineBridgeAgent, type BridgeAgent, type BridgeEvent, type BridgeExecutor, type ExecutorLimits } from '@bowline/bridge'
import { kitAgent, testBridgeExecutor } from '@bowline/bridge/testing'

/** Reaches one agent. In place of the calls of `agent` put those of your system. */
function directExecutor(agent: BridgeAgent, limits: ExecutorLimits = {}): BridgeExecutor {
  let healthy = false
  return {
    specificationVersion: 'v1',
    kind: 'direct',
    limits,
    start: async () => void (healthy = true),
    stop: async () => void (healthy = false),
    agents: () => [{ ...agent.info, capabilities: agent.capabilities ?? [], status: 'ready', durable: false }],
    health: () => ({ healthy }),
    open: async (session, how) => void (how === 'create' && (await agent.onSessionCreate?.(session))),
    async *prompt(request): AsyncIterable<BridgeEvent> {
      const answer = agent.onPrompt(request)
      if (Symbol.asyncIterator in answer) yield* answer
      else yield { type: 'result', result: await answer }
    },
    answer: async (request) => {
      await agent.onAnswers?.(request)
      return agent.onAnswers !== undefined // false: the answers wait for the end of the turn
    },
    cancel: async (request) => agent.onCancel?.(request),
    close: async (session, reason) => agent.onSessionClose?.(session, reason),
  }
}

const tests: [string, () => Promise<void>][] = []
const it = Object.assign((name: string, body: () => Promise<void>) => void tests.push([name, body]), { skip: () => {} })
testBridgeExecutor({
  name: 'direct',
  executor: (limits) => {
    const notes: string[] = []
    return { executor: directExecutor(kitAgent({ note: (line) => notes.push(line) }), limits), notes: () => notes }
  },
  runner: { describe: (_name, body) => body(), it }, // default: describe and it of your test runner
})
for (const [name, test] of tests) await test().catch((error: unknown) => console.log(name, error))
console.log(tests.length > 10, 'the executor is right') // → true the executor is right

const echo = defineBridgeAgent({ specificationVersion: 'v1', info: { id: 'echo' }, onPrompt: ({ prompt }) => ({ text: prompt, stopReason: 'end_turn' }) })
const bridge = createBridge({ executors: [directExecutor(echo)], logger: { info() {}, warn() {}, error() {} } })
await bridge.start()
const result = await bridge.delegate({ prompt: 'Tie the knot.' }).result()
console.log(result.ok && result.text) // → Tie the knot.
await bridge.stop()

export {}
