import { defineAgent } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { setup } from '../support.ts'

const tokens = (input: number, output: number) => ({ usage: { input, output } })
const spent = (inputTokens: number, outputTokens: number) => ({
  usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
})

/** Prices a model: 0.000002 per input token, 0.000004 per output token. */
function priced(steps: Parameters<typeof scriptedModel>[0]) {
  const scripted = scriptedModel(steps)
  const models = createModels({
    providers: { test: { languageModel: () => scripted } },
    models: { 'test:m': { price: { input: '2', output: '4' } } },
  })
  return { model: 'test:m', models }
}

describe('usage', () => {
  it('S146: returns the usage of the session, of its subagents, and the sum', async () => {
    const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([{ text: 'helped', ...tokens(1_000, 1) }]) })
    const handOn = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'do it' } }] }
    const { runtime } = setup({
      steps: [
        { ...handOn, ...tokens(10, 1) },
        { text: 'done', ...tokens(10, 1) },
      ],
      agent: { subagents: [helper] },
    })
    await runtime.start()
    const session = runtime.session('room:1')
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed' })
    const report = await session.usage()
    expect(report).toMatchObject({ own: spent(20, 2), children: spent(1_000, 1), total: spent(1_020, 3) })
    const child = (await runtime.sessions({ parent: 'room:1' })).items[0]?.key ?? ''
    expect(await runtime.session('room:1').info()).toMatchObject({ ...spent(20, 2), children: report.children, total: report.total })
    expect(await runtime.store.readSession(child)).toMatchObject({ value: spent(1_000, 1) })
    await runtime.stop()
  })

  it.each([false, true])(
    'S146: info() returns the cost of the session, of its subagents and of both, in the background: %s',
    async (background) => {
      const handOn = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'do it', run_in_background: background } }] }
      const helper = defineAgent({ name: 'helper', description: 'Helps.', ...priced([{ text: 'helped', ...tokens(10, 1) }]) })
      const { runtime } = setup({
        steps: [],
        agent: {
          ...priced([
            { ...handOn, ...tokens(5, 1) },
            { text: 'done', ...tokens(5, 1) },
            { text: 'seen', usage: { input: 0, output: 0 } },
          ]),
          subagents: [helper],
        },
      })
      await runtime.start()
      const session = runtime.session('room:1')
      const result = await (await session.send('go')).result()
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
      expect(result.messages.at(-1)).toEqual(result.message)
      await expect.poll(async () => (await session.info())?.children.cost?.total).toBe('0.000024')
      expect(await session.info()).toMatchObject({
        cost: { total: '0.000028' },
        children: { cost: { total: '0.000024' } },
        total: { cost: { total: '0.000052' } },
      })
      await runtime.stop()
    },
  )

  it('S146: the cost of a killed run stays counted', async () => {
    const { runtime } = setup({ steps: [{ text: 'one', ...tokens(10, 1) }] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('go')).result()
    await session.kill()
    expect(await runtime.session('room:1').usage()).toMatchObject({ own: spent(10, 1), children: { usage: {} }, total: spent(10, 1) })
    await runtime.stop()
  })
})
