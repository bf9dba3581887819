import { createBridge, defineBridgeAgent, inProcessExecutor } from '@bowline/bridge'

const careful = defineBridgeAgent({
  specificationVersion: 'v1',
  info: { id: 'careful' },
  onPrompt: async ({ prompt, answers }) =>
    answers
      ? { text: 'Done.', stopReason: 'end_turn' }
      : { text: '', stopReason: 'needs_input', pending: [{ id: 'q1', kind: 'approval', toolName: 'pay', input: { prompt } }] },
})
const bridge = createBridge({ executors: [inProcessExecutor({ agents: [careful] })], maxQueued: 20 })
await bridge.start()
const { sessionId } = await bridge.createSession({ metadata: { team: 'red' } })
const asked = await bridge.prompt({ sessionId, prompt: 'Pay the bill.', requestId: 'bill-7' }).result()
console.log(asked.ok && asked.status) // → awaiting-approval

const answered = await bridge.prompt({ sessionId, answers: [{ id: 'q1', decision: 'approve' }] }).result()
console.log(answered.ok && answered.text) // → Done.
await bridge.close({ sessionId })
await bridge.stop()

export {}
