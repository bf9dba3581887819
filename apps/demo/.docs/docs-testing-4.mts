import { defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { exploreCrashes, standardInvariants, type CrashScenario } from '@bowline/sessions/testing'
import { z } from 'zod'

const scenario: CrashScenario = {
  agents: (world) => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pay a bill.',
      inputSchema: z.object({ sum: z.number() }),
      execute: async ({ sum }, call) => {
        await world.effect(call) // in production: the call of the payment service
        return `paid ${sum}`
      },
      reconcile: async ({ sum }, { idempotencyKey }) =>
        world.happened(idempotencyKey) ? { happened: true, result: `paid ${sum}` } : { happened: false },
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? { text: 'It is paid.' } : { toolCalls: [{ id: 'call-1', name: 'pay', input: { sum: 80 } }] },
    )
    return [{ name: 'assistant', model, tools: [pay] }]
  },
  async drive(runtime) {
    const run = await runtime.session('room:1').send('Pay the bill.', { id: 'input-1' }) // the client repeats it after a crash
    await run.result()
  },
  invariants: [
    ...standardInvariants,
    { name: 'paid once', check: ({ world }) => (world.effects.length === 1 ? [] : [`paid ${world.effects.length} times`]) },
  ],
}
const { points, failures } = await exploreCrashes(scenario)
console.log(points > 10, failures.length) // → true 0

export {}
