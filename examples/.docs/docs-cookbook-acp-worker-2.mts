import { serveWorker } from '@bowline/bridge/worker'

serveWorker({
  specificationVersion: 'v1',
  info: { id: 'reviewer', description: 'Reads a text and says what is wrong with it.' },
  onPrompt: async ({ prompt }) => ({ text: `Nothing is wrong with "${prompt}".`, stopReason: 'end_turn' }),
})

export {}
