import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { setup } from '../support.ts'

const tokens = (input: number, output: number) => ({ usage: { input, output } })
const spent = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } })

describe('usage', () => {
  it('S146: tells its own, that of its subagents, and the sum', async () => {
    const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([{ text: 'helped', ...tokens(1_000, 1) }]) })
    const handOn = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'do it' } }] }
    const { runtime } = setup({ steps: [{ ...handOn, ...tokens(10, 1) }, { text: 'done', ...tokens(10, 1) }], agent: { subagents: [helper] } })
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

  it('S146: what a killed run has cost stays counted', async () => {
    const { runtime } = setup({ steps: [{ text: 'one', ...tokens(10, 1) }] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('go')).result()
    await session.kill()
    expect(await runtime.session('room:1').usage()).toMatchObject({ own: spent(10, 1), children: { usage: {} }, total: spent(10, 1) })
    await runtime.stop()
  })
})
