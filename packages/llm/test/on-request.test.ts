import { streamMessage, type ModelRequest, type SentRequest } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { expect, it } from 'vitest'

const messages = [{ role: 'user', content: 'hi' }] as const

function ask(onRequest: ModelRequest['onRequest'], more: Partial<ModelRequest> = {}) {
  const model = scriptedModel([{ text: 'hello' }])
  const stream = streamMessage({
    model,
    messages,
    instructions: 'Be brief.',
    headers: { 'x-key': 'secret' },
    runtimeParams: { temperature: 0.5 },
    ...(onRequest && { onRequest }),
    ...more,
  })
  return { model, stream }
}

it("D55: onRequest gets the input of the provider's client, without headers and signal, before the client does", async () => {
  const seen: SentRequest[] = []
  const { model, stream } = ask((request) => {
    expect(model.calls).toHaveLength(0)
    seen.push(request)
  })
  expect(await stream.result()).toMatchObject({ stopReason: 'stop' })
  const [{ headers, abortSignal, ...sent } = {}] = model.calls
  expect([headers, abortSignal]).toMatchObject([{ 'x-key': 'secret' }, expect.any(AbortSignal)])
  expect(seen).toEqual([sent])
  expect(seen[0]).toMatchObject({ temperature: 0.5, prompt: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }] })
})

it('D55: the call waits for onRequest, fails if it rejects, and is not made if it is aborted meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const waiting = ask(() => promise)
  const result = waiting.stream.result()
  await new Promise((next) => setImmediate(next))
  expect(waiting.model.calls).toHaveLength(0)
  resolve()
  expect(await result).toMatchObject({ stopReason: 'stop' })
  const failing = ask(() => Promise.reject(new Error('not kept')))
  expect(await failing.stream.result()).toMatchObject({ stopReason: 'error', error: { message: 'not kept' } })
  const left = ask(() => left.stream.abort('enough'))
  expect(await left.stream.result()).toMatchObject({ stopReason: 'aborted', abortReason: 'enough' })
  for (const { model } of [failing, left]) expect(model.calls).toHaveLength(0)
})
