import { createBudget, defineAgent } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'

const test = { languageModel: () => scriptedModel(() => ({ text: 'Here you are.', usage: { input: 1_000, output: 500 } })) }
const models = createModels({
  providers: { test },
  models: { 'test:m': { price: { input: '1', output: '2' }, maxOutputTokens: 1_000 } },
})
const agent = defineAgent({ name: 'assistant', model: 'test:m', models, limits: { onBudget: 'ask' } })

// One turn, or several that share a budget: what a call may cost at most is reserved before it is made.
const budget = createBudget({ maxCost: '0.004' })
console.log((await defineAgent({ model: 'test:m', models }).run('Hi', { budget }).result()).status) // → completed
console.log((await defineAgent({ model: 'test:m', models }).run('Hi', { budget }).result()).status) // → limit

// A customer, in all processes that share the store: the key of the session names the tenant.
const runtime = createRuntime({ agents: [agent], tenantBudget: { maxCost: '0.003', window: 'day' } })
await (await runtime.session('tenant:acme:1').send('Hi')).result()
const run = await runtime.session('tenant:acme:2').send('Hi')
const { status, pendingApprovals: [asked] } = await run.result()
console.log(status, asked?.about) // → awaiting-approval budget
await run.session.grant(asked?.approvalId ?? '', { cost: '1' })
console.log((await run.result()).status) // → completed
console.log((await runtime.tenantSpending('acme')).spent?.total) // → 0.004
await runtime.stop()

export {}
