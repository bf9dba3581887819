// Worker of the benchmark.
import { serveWorker } from '@bowline/bridge/worker'

serveWorker({ specificationVersion: 'v1', info: { id: 'echo' }, onPrompt: ({ prompt }) => ({ text: prompt, stopReason: 'end_turn' }) })
