import { streamMessage, type LanguageModelV4 } from '@bowline/llm'
import { measure, type Bench } from './harness.ts'
import { toolCallModel } from './models.ts'

const sizes = [1_000, 4_000, 16_000]

export const bench: Bench = {
  title: 'Tool arguments',
  text: [
    'One tool call whose JSON arguments come in deltas of eight characters, read by `for await` to the message. The text is parsed once,',
    'at its end: four times the deltas cost four times as much.',
  ].join('\n'),
  async run() {
    const results = await measure(
      sizes.map((deltas) => ({ name: deltas.toLocaleString('en'), run: () => readAll(toolCallModel(deltas), deltas) })),
      { warmups: 20 },
    )
    const [first] = results
    if (first === undefined) throw new Error('There are no sizes')
    return {
      head: ['deltas', 'ms', 'µs/delta', `× ${first.name}`],
      rows: results.map(({ name, medianMs }, index) => [
        name,
        medianMs.toFixed(2),
        ((medianMs * 1000) / (sizes[index] ?? 1)).toFixed(2),
        (medianMs / first.medianMs).toFixed(2),
      ]),
    }
  },
}

async function readAll(model: LanguageModelV4, deltas: number): Promise<void> {
  const stream = streamMessage({ model, messages: [{ role: 'user', content: 'go' }] })
  let seen = 0
  for await (const event of stream) if (event.type === 'tool-call-delta') seen += 1
  const [call] = (await stream.result()).content
  if (seen !== deltas || call?.type !== 'tool-call' || call.invalid) throw new Error(`${seen} of ${deltas} deltas arrived`)
}
