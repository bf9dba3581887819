// Program of the worker process. The bridge of the demo server starts it and communicates over stdin and stdout.
import { serveWorker } from '@bowline/bridge/worker'
import { systemClock } from '@bowline/llm'
import { createPace, speedFrom } from '../pace.ts'

const pace = createPace(speedFrom(process.env), systemClock)
const thinkMs = 1500

/** The answer depends only on the prompt, so that a process that replaces a lost one gives the same: the agent is durable. */
serveWorker({
  specificationVersion: 'v1',
  info: { id: 'worker', description: 'Works out how much rope a splice needs. Lives in a process of its own.' },
  capabilities: ['splices'],
  durable: true,
  async *onPrompt({ prompt, abortSignal }) {
    for (const message of ['measuring', 'counting the tucks']) {
      yield { type: 'progress', message }
      await pace.wait(thinkMs, abortSignal)
    }
    yield { type: 'result', result: { text: answer(prompt), stopReason: 'end_turn' } }
  },
})

function answer(prompt: string): string {
  const millimetres = Number(/(\d{1,3}(?:\.\d+)?)\s*mm/.exec(prompt)?.[1] ?? 0)
  if (millimetres === 0) return 'Say how thick the rope is, in mm.'
  return `An eye splice in a rope of ${millimetres} mm needs about ${Math.ceil(millimetres * 6)} cm: five tucks, and the eye itself.`
}
