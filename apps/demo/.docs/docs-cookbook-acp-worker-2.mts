import { createBridge, workerExecutor } from '@bowline/bridge'

const program = `
  import { serveWorker } from '@bowline/bridge/worker'
  const onPrompt = ({ prompt }) => ({ text: 'Nothing is wrong with ' + prompt, stopReason: 'end_turn' })
  serveWorker({ specificationVersion: 'v1', info: { id: 'reviewer' }, onPrompt })
`
const executor = workerExecutor({ workers: [{ id: 'reviewer', command: process.execPath, args: ['--input-type=module', '-e', program] }] })
const bridge = createBridge({ executors: [executor], logger: { info() {}, warn() {}, error() {} } })
await bridge.start()
const result = await bridge.delegate({ agentId: 'reviewer', prompt: 'this knot.' }).result()
console.log(result.ok ? result.text : result.error.message) // → Nothing is wrong with this knot.
await bridge.stop()

export {}
