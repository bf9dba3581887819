import { defineBridgeConfig, workerExecutor } from '@bowline/bridge'

// A worker gets only the variables that are named here, besides PATH and its like.
const key = process.env['OPENAI_API_KEY']
const env = key ? { OPENAI_API_KEY: key } : {}

export default defineBridgeConfig({
  executors: [workerExecutor({ workers: [{ id: 'reviewer', entry: './worker.ts', env }] })],
  defaultAgentId: 'reviewer',
})
