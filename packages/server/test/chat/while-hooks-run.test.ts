import { defineExtension } from '@bowline/agent-loop'
import { describe, expect, it } from 'vitest'
import { bench, gate, refusal, remoteTool, say, stores, type Bench } from '../support/bench.ts'
import { allUiFrames, chatBody, chunksOf, messageOf, postChat, textOf, userMessage } from '../support/chat.ts'
import { allFrames } from '../support/frames.ts'

const key = 'tenant:local:s:mine'
const one = userMessage('u1', 'one')

/** Extension whose hook after the first settled turn waits. */
function held() {
  const hook = gate()
  let hooked = 0
  return {
    hook,
    extensions: [
      defineExtension({ name: 'slow', timeoutMs: 60_000, hooks: { onSettled: () => (hooked++ === 0 ? hook.passed : undefined) } }),
    ],
  }
}

async function settled({ runtime }: Bench): Promise<void> {
  for await (const event of runtime.reader(key).events()) if (event.type === 'settled') return
}

const textIn = async (response: Response) =>
  chunksOf(await allUiFrames(response))
    .flatMap((chunk) => (chunk.type === 'text-delta' ? chunk.delta : []))
    .join('')

describe.each(stores)('a page while the hooks after a turn run, over the $name store', ({ make }) => {
  it('V47: an answer is regenerated, by its id and by that of its message', async () => {
    const { hook, extensions } = held()
    const it = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'One again.' }, { text: 'And again.' }], extensions })
    const first = await postChat(it, chatBody([one]))
    await settled(it)
    const regenerating = postChat(it, chatBody([one], { trigger: 'regenerate-message', messageId: first.headers.get('x-run-id') }))
    hook.open()
    expect(textOf(await messageOf(chunksOf(await allUiFrames(await regenerating))))).toBe('One again.')
    expect(
      textOf(await messageOf(chunksOf(await allUiFrames(await postChat(it, chatBody([one], { trigger: 'regenerate-message' })))))),
    ).toBe('And again.')
    await allUiFrames(first)
  })

  it('V52: a stream ends with its turn, not with the hooks after it', async () => {
    const { hook, extensions } = held()
    const it = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }], extensions })
    const first = await postChat(it, chatBody([one]))
    const chunks = chunksOf(await allUiFrames(first))
    expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
    expect(await it.runtime.run(first.headers.get('x-run-id') ?? '')).toMatchObject({ status: 'completed', holdsSession: true })
    const second = postChat(it, chatBody([userMessage('u2', 'two')]))
    hook.open()
    expect(await textIn(await second)).toBe('Two.')
  })

  it('V45, V52: a stream ends with the question of its turn, not with the hooks after it', async () => {
    const hook = gate()
    let hooked = 0
    const slow = defineExtension({
      name: 'slow',
      timeoutMs: 60_000,
      hooks: { onAgentEnd: () => (hooked++ === 0 ? hook.passed : undefined) },
    })
    const it = await bench({
      store: make(),
      steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }, { text: 'In Oslo.' }],
      tools: [remoteTool('place')],
      extensions: [slow],
    })
    const asked = await postChat(it, chatBody([one]))
    expect(chunksOf(await allUiFrames(asked)).at(-1)).toEqual({ type: 'finish', finishReason: 'tool-calls' })
    const output = { type: 'tool-place', toolCallId: 'c1', state: 'output-available', input: {}, output: 'Oslo' }
    const answering = postChat(it, chatBody([one, { id: asked.headers.get('x-run-id'), role: 'assistant', parts: [output] }]))
    hook.open()
    expect(await textIn(await answering)).toBe('In Oslo.')
  })

  it('V45: answers that are posted again get the whole segment again', async () => {
    const { hook, extensions } = held()
    const it = await bench({
      store: make(),
      steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }, { text: 'In Oslo.' }],
      tools: [remoteTool('place')],
      extensions,
    })
    const asked = await postChat(it, chatBody([one]))
    await allUiFrames(asked)
    const output = { type: 'tool-place', toolCallId: 'c1', state: 'output-available', input: {}, output: 'Oslo' }
    const messages = [one, { id: asked.headers.get('x-run-id'), role: 'assistant', parts: [output] }]
    const first = await postChat(it, chatBody(messages))
    await settled(it)
    const again = await postChat(it, chatBody(messages))
    hook.open()
    expect([await textIn(first), await textIn(again)]).toEqual(['In Oslo.', 'In Oslo.'])
  })

  it('V46: a message is refused if another run is queued', async () => {
    const { hook, extensions } = held()
    const it = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Other.' }], extensions })
    const first = await postChat(it, chatBody([one]))
    await settled(it)
    const other = await it.execute({ sessionId: 'mine', input: say('other'), options: { onBusy: 'queue' } })
    await refusal(postChat(it, chatBody([userMessage('u2', 'two')])), 409, 'busy')
    hook.open()
    await Promise.all([allUiFrames(first), allFrames(other)])
  })
})
