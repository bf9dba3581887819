import { defineAgent, defineExtension, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createOrchestration, createRuntime } from '@bowline/sessions'
import type { Runtime, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { planSteps } from '../src/server/tools/plan.ts'
import { manualTime } from './manual-time.ts'
import { mortalRuntime } from './mortal-runtime.ts'

it('D39: a call of a plan that another process takes up is judged by the message of its turn', async () => {
  const time = manualTime()
  const store = memoryStore()
  const orchestration = createOrchestration({ store, config: planSteps, clock: time.clock })
  const tool = (name: string) => defineTool({ name, description: name, inputSchema: z.object({}), effect: 'pure', execute: () => 'done' })
  let asked = 0
  // The answer is stored, and none of its calls has been judged.
  const holding = defineExtension({ name: 'holding', hooks: { onToolCall: ({ call }) => (call.toolName === 'plan_tide' && ++asked === 1 ? new Promise(() => undefined) : { action: 'allow' }) } })
  const model = scriptedModel([{ toolCalls: [{ name: 'plan_start', input: {} }] }, { toolCalls: ['plan_tide', 'plan_crew'].map((name) => ({ name, input: {} })) }, { text: 'Planned.' }])
  const agents = [defineAgent({ name: 'planner', model, tools: ['plan_start', 'plan_tide', 'plan_crew'].map(tool), extensions: [holding, orchestration.extension()] })]
  const open = (over: SessionStore): Runtime => createRuntime({ agents, store: over, clock: time.clock })
  const until = async (done: () => Promise<boolean> | boolean): Promise<void> => {
    for (let round = 0; !(await done()); round++) {
      if (round > 10_000) throw new Error('It does not come to its end.')
      for (let pause = 0; pause < 5; pause++) await time.settle()
      if (!(await done())) time.advance(Math.max(0, (time.nextAt() ?? time.clock.now()) - time.clock.now()))
    }
  }
  const { runtime: first, die } = mortalRuntime(store, open)
  await first.start()
  await first.session('room:1').send('make a plan')
  await until(() => asked === 1)
  die()
  const second = open(store)
  await second.start()
  await until(async () => (await second.session('room:1').info())?.status === 'completed')
  const results = (await second.session('room:1').messages()).items.filter(({ role }) => role === 'tool-result')
  expect(results.map((message) => 'status' in message && message.status)).toEqual(['result', 'result', 'result'])
  await second.stop()
})
