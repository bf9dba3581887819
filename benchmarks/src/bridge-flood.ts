// Worker that sends a number of megabytes in pieces of 64 kB, as answer text or as progress.
import type { BridgeEvent } from '@bowline/bridge'
import { serveWorker } from '@bowline/bridge/worker'

const piece = 'x'.repeat(64_000)

serveWorker({
  specificationVersion: 'v1',
  info: { id: 'flood' },
  async *onPrompt({ prompt }) {
    const [kind, megabytes] = prompt.split(' ')
    const event: BridgeEvent = kind === 'progress' ? { type: 'progress', message: piece } : { type: 'text-delta', delta: piece }
    for (let said = 0; said < Number(megabytes) * 1e6; said += piece.length) yield event
  },
})
