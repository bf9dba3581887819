// Worker that is slow in every call: `serveWorker` with an agent that waits.
import { setTimeout } from 'node:timers/promises'
import { serveWorker } from '@bowline/bridge/worker'

const waitMs = 20

serveWorker({
  specificationVersion: 'v1',
  info: { id: 'slow' },
  async onPrompt({ prompt }) {
    await setTimeout(waitMs)
    return { text: prompt, stopReason: 'end_turn' }
  },
})
