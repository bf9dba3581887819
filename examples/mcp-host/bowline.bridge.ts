import { defineBridgeConfig, workerExecutor } from '@bowline/bridge'

// A worker gets only the variables listed here, in addition to PATH and similar ones.
const key = process.env['OPENAI_API_KEY']
const env = key ? { OPENAI_API_KEY: key } : {}

export default defineBridgeConfig({
  executors: [workerExecutor({ workers: [{ id: 'reviewer', entry: './worker.ts', env }] })],
  defaultAgentId: 'reviewer',
})
