import { defineAgent } from '@bowline/agent-loop'
import { createClient } from '@bowline/client'
import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { bench, stores } from './support/bench.ts'

function models() {
  const model = scriptedModel(() => ({ text: 'Here.', usage: { input: 1_000, output: 500 } }))
  return createModels({
    providers: { test: { languageModel: () => model } },
    models: { 'test:m': { price: { input: '1', output: '2' }, maxOutputTokens: 1_000 } },
  })
}

describe.each(stores)('a budget that asks over HTTP, on $name', ({ make }) => {
  const asking = async () => {
    const agents = [defineAgent({ name: 'assistant', model: 'test:m', models: models(), limits: { onBudget: 'ask' } })]
    const { url } = await bench({
      store: make(),
      runtimeOptions: { agents, tenantBudget: { maxCost: 0, window: 'day' }, onError: () => undefined },
    })
    const session = createClient({ baseUrl: url }).session('mine')
    const result = await session.send('go').result()
    return { session, result, approvalId: result.pendingApprovals?.[0]?.approvalId ?? '' }
  }

  it('A196: the client sees the question, grants with an approval, and reads on', async () => {
    const { session, result, approvalId } = await asking()
    expect(result).toMatchObject({
      status: 'awaiting-approval',
      pendingApprovals: [{ about: 'budget', toolName: 'budget', input: { budgets: [{ name: 'tenant', left: { cost: 0 } }] } }],
    })
    expect(await session.state()).toMatchObject({ status: 'waiting-for-user', pendingApprovals: [{ approvalId, about: 'budget' }] })
    await expect(session.approve(approvalId, { input: { cost: 'much' } })).rejects.toMatchObject({ code: 'invalid-input', status: 422 })
    expect(await session.approve(approvalId, { input: { cost: '1' } })).toMatchObject({ decision: 'approve', missing: [] })
    for await (const event of session.attach()) if (event.type === 'turn-end' && event.status === 'completed') break
    expect(JSON.stringify((await session.state()).messages)).toContain('Here.')
  })

  it('A196: a denial over HTTP ends the run as limit', async () => {
    const { session, approvalId } = await asking()
    await session.deny(approvalId, { reason: 'enough' })
    await expect.poll(async () => (await session.state()).outcome).toBe('limit')
  })
})
