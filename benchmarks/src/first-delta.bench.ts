import { streamMessage } from '@bowline/llm'
import { streamText } from 'ai'
import { measure, type Bench, type Variant } from './harness.ts'
import { textModel } from './models.ts'

const calls = 1_000
const prompt = 'go'

export const bench: Bench = {
  title: 'Time to the first delta',
  text: [
    `From the call to its first text delta, one call after the other, ${calls.toLocaleString('en')} of them per round; each is read to its end.`,
    '*Model* is `doStream` and a reader, without anything around it. The model answers at once, so all that is left is overhead.',
  ].join('\n'),
  async run() {
    const [bare, ...others] = await measure(variants(), { warmups: 20, collect: false })
    if (bare === undefined) throw new Error('The bare model is missing')
    const perCall = (ms: number) => ((ms * 1000) / calls).toFixed(1)
    return {
      head: ['what', 'µs per call', 'over the model'],
      rows: [bare, ...others].map(({ name, medianMs }) => [name, perCall(medianMs), perCall(medianMs - bare.medianMs)]),
    }
  },
}

function variants(): readonly Variant[] {
  const model = textModel(1, 'pull')
  return [
    variant('model', async (arrived) => {
      const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: prompt }] }] })
      const reader = stream.getReader()
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        if (read.value.type === 'text-delta') arrived()
      }
    }),
    variant('streamMessage', async (arrived) => {
      const events = streamMessage({ model, messages: [{ role: 'user', content: prompt }] })
      for await (const event of events) if (event.type === 'text-delta') arrived()
    }),
    variant('streamText of ai', async (arrived) => {
      for await (const part of streamText({ model, prompt }).fullStream) if (part.type === 'text-delta') arrived()
    }),
  ]
}

function variant(name: string, call: (arrived: () => void) => Promise<void>): Variant {
  return {
    name,
    async run() {
      let totalMs = 0
      for (let count = 0; count < calls; count += 1) {
        const startedAt = performance.now()
        let arrivedAt: number | undefined
        await call(() => (arrivedAt ??= performance.now()))
        if (arrivedAt === undefined) throw new Error(`${name} gave no delta`)
        totalMs += arrivedAt - startedAt
      }
      return totalMs
    },
  }
}
