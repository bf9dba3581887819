// What the worker of the benchmark runs.
import { serveWorker } from '@bowline/bridge/worker'

serveWorker({ specificationVersion: 'v1', info: { id: 'echo' }, onPrompt: ({ prompt }) => ({ text: prompt, stopReason: 'end_turn' }) })
