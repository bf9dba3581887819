import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { createRuntime, type RuntimeOptions } from '@bowline/sessions'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pricedAgent, usage } from '../fixtures/priced-agent.ts'
import { logOf } from '../support.ts'

const runtimes: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of runtimes.splice(0)) await each.stop()
})

const day = 86_400_000
const acme = 'tenant:acme:room'
const look = defineTool({ name: 'look', description: 'Looks.', inputSchema: z.object({}), execute: () => 'seen' })
const looking = { toolCalls: [{ id: 'look', name: 'look', input: {} }], usage }
const done = { text: 'done', usage }

type Steps = Parameters<typeof pricedAgent>[0]

/** Creates a runtime whose runs ask for budget. A step costs 0.002, and as much must be free before it. */
function asking(steps: Steps, options: Partial<RuntimeOptions> = {}, agent: Parameters<typeof pricedAgent>[1] = {}) {
  const runtime = createRuntime({ agents: [pricedAgent(steps, { tools: [look], limits: { onBudget: 'ask' }, ...agent })], ...options })
  runtimes.push(runtime)
  return runtime
}

const ofTenant = (maxCost: string | 0) => ({ tenantBudget: { maxCost, window: 'day' as const } })

describe('a budget with approval, in a session', () => {
  it('A196: the run waits for a grant, shows what is spent and left for the run and the tenant, and resumes', async () => {
    const runtime = asking([looking, done], ofTenant('0.003'), { limits: { onBudget: 'ask', maxCost: '1' } })
    const session = runtime.session(acme)
    const run = await session.send('go')
    const {
      status,
      pendingApprovals: [question],
    } = await run.result()
    expect(status).toBe('awaiting-approval')
    expect(question).toMatchObject({
      about: 'budget',
      toolName: 'budget',
      input: {
        budgets: [
          { name: 'run', left: { cost: 0.998 }, spent: { cost: 0.002 } },
          { name: 'tenant', left: { cost: 0.001 }, spent: { cost: 0.002 }, reserved: { cost: 0 } },
        ],
      },
    })
    expect(await session.info()).toMatchObject({ status: 'waiting-for-user' })
    const { approvalId } = question ?? { approvalId: '' }
    expect(await session.grant(approvalId, { cost: '0.5', by: 'ann' })).toMatchObject({
      approvalId,
      decision: 'approve',
      by: 'ann',
      repeated: false,
      missing: [],
    })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(await runtime.tenantSpending('acme')).toMatchObject({ maxCost: '0.003', granted: '0.5', spent: { total: '0.004' }, left: 0.499 })
    expect(await session.grant(approvalId, { cost: '0.5' })).toMatchObject({ repeated: true })
    await expect(session.grant(approvalId, { cost: '0.6' })).rejects.toMatchObject({ code: 'approval-conflict' })
  })

  it('A196: a denied run ends as limit', async () => {
    const session = asking([looking], ofTenant('0.003')).session(acme)
    const run = await session.send('go')
    const {
      pendingApprovals: [{ approvalId } = { approvalId: '' }],
    } = await run.result()
    await session.deny(approvalId, { reason: 'enough for today' })
    expect(await run.result()).toMatchObject({ status: 'limit', reason: 'max-cost' })
  })

  it('A196: a grant applies to the other runs of the tenant in the same window, and not to the next window', async () => {
    const clock = manualClock(0)
    const runtime = asking(() => done, { clock, ...ofTenant(0) })
    const first = await runtime.session(acme).send('go')
    const {
      pendingApprovals: [{ approvalId } = { approvalId: '' }],
    } = await first.result()
    await runtime.session(acme).grant(approvalId, { cost: '0.01' })
    expect((await first.result()).status).toBe('completed')
    expect((await (await runtime.session('tenant:acme:other').send('go')).result()).status).toBe('completed')
    await clock.advance(day)
    expect((await (await runtime.session('tenant:acme:third').send('go')).result()).status).toBe('awaiting-approval')
    expect(await runtime.tenantSpending('acme')).not.toHaveProperty('granted')
  })

  it('A196: an empty grant tries again, and succeeds in the next window', async () => {
    const clock = manualClock(0)
    const runtime = asking(() => done, { clock, ...ofTenant('0.003') })
    const ask = async (key: string) => (await runtime.session(key).send('go')).result()
    expect((await ask('tenant:acme:first')).status).toBe('completed')
    const session = runtime.session(acme)
    const run = await session.send('go')
    const {
      pendingApprovals: [first],
    } = await run.result()
    await session.grant(first?.approvalId ?? '', {})
    const {
      status,
      pendingApprovals: [second],
    } = await run.result()
    expect([status, second?.approvalId === first?.approvalId]).toEqual(['awaiting-approval', false])
    await clock.advance(day)
    await session.grant(second?.approvalId ?? '', {})
    expect((await run.result()).status).toBe('completed')
    expect(await runtime.tenantSpending('acme')).not.toHaveProperty('granted')
  })

  it('A196: a subagent in a session of its own asks at the root, once, and is answered there', async () => {
    const helper = pricedAgent([looking, { text: 'helped', usage }], { name: 'helper', description: 'Helps.', tools: [look] })
    const delegate = { toolCalls: [{ id: 'ask', name: 'delegate_to_helper', input: { prompt: 'help' } }], usage }
    const session = asking([delegate, done], ofTenant('0.0055'), { subagents: [helper] }).session(acme)
    const run = await session.send('go')
    const { status, pendingApprovals } = await run.result()
    expect(status).toBe('awaiting-approval')
    expect(pendingApprovals).toMatchObject([
      { about: 'budget', path: ['ask'], agent: ['helper'], input: { budgets: [{ name: 'tenant' }] } },
    ])
    await session.grant(pendingApprovals[0]?.approvalId ?? '', { cost: '1' })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    const asked = (await logOf(session)).filter(({ type }) => type === 'approval-requested')
    expect(asked).toMatchObject([{ about: 'budget', path: ['ask'] }])
  })

  it('A196: a grant for a question about a call is refused', async () => {
    const wary = defineTool({
      name: 'look',
      description: 'Looks.',
      inputSchema: z.looseObject({}),
      needsApproval: true,
      execute: () => 'seen',
    })
    const session = asking([looking], {}, { tools: [wary] }).session(acme)
    const {
      pendingApprovals: [{ approvalId } = { approvalId: '' }],
    } = await (await session.send('go')).result()
    await expect(session.grant(approvalId, { cost: '1' })).rejects.toMatchObject({
      code: 'unknown-approval',
      message: expect.stringMatching(/is for a call/) as string,
    })
    await expect(session.grant('nobody-asked', { cost: '1' })).rejects.toMatchObject({ code: 'unknown-approval' })
  })

  it.each([
    ['tokens', { tokens: -1 }, /tokens must/],
    ['cost', { cost: 'a lot' }, /cost/],
    ['euro', { euro: 1 }, /euro/],
  ])('A196: a grant with a wrong %s is refused, and nothing is stored', async (_name, amount, message) => {
    const session = asking([looking], ofTenant('0.003')).session(acme)
    const {
      pendingApprovals: [{ approvalId } = { approvalId: '' }],
    } = await (await session.send('go')).result()
    await expect(session.grant(approvalId, amount as never)).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringMatching(message) as string,
    })
    expect((await session.info())?.status).toBe('waiting-for-user')
  })

  it('A196: the receipt of a run that is stopped while it asks lists no call for the question', async () => {
    const session = asking([looking], ofTenant('0.003')).session(acme)
    const run = await session.send('go')
    await run.result()
    expect(await session.stop({ waitMs: 10_000 })).toMatchObject({ state: 'settled', calls: [{ toolName: 'look', status: 'result' }] })
    expect(await run.result()).toMatchObject({ status: 'aborted', pendingApprovals: [] })
  })

  it('A196: webhooks get the budget notice and the question', async () => {
    const runtime = asking([looking], {
      ...ofTenant('0.003'),
      notify: { url: 'https://hooks.example/bowline', events: ['budget', 'awaiting-answer'], secret: 'a secret of this test, long enough' },
    })
    await (await runtime.session(acme).send('go')).result()
    const { items } = await runtime.notices({ key: acme })
    expect(items.map(({ type }) => type).sort()).toEqual(['awaiting-answer', 'budget'])
  })

  it('A196, S214: inspect says what the run waits for', async () => {
    const runtime = asking([looking], ofTenant('0.003'))
    await (await runtime.session(acme).send('go')).result()
    const inspected = await runtime.inspect(acme)
    expect(inspected?.open.runs[0]?.calls.at(-1)).toMatchObject({
      name: 'budget',
      resume: 'waits-for-approval',
      next: expect.stringMatching(/grant or deny/) as string,
    })
  })
})
