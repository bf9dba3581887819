import { defineTool, type ToolEffect } from '@bowline/agent-loop'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { recordingStore } from '../recording-store.ts'
import { checkLog, setup } from '../support.ts'

function counting(effect: ToolEffect, ran: string[]) {
  return defineTool({
    name: effect,
    description: `A tool that is ${effect}.`,
    inputSchema: z.object({}),
    effect,
    execute: (_input, { idempotencyKey }) => {
      ran.push(idempotencyKey)
      return 'done'
    },
  })
}

const call = (name: string) => ({ toolCalls: [{ id: 'c1', name, input: {} }] })

describe("durability 'turn'", () => {
  it('S87: a turn without effects costs three commits, and leaves the same transcript and log', async () => {
    const commits: number[] = []
    const left: unknown[] = []
    for (const durability of ['boundary', 'turn'] as const) {
      const store = recordingStore(memoryStore())
      const { runtime } = setup({ steps: [call('pure'), { text: 'fine' }], tools: [counting('pure', [])], store, durability })
      const session = runtime.session('room:1')
      const run = await session.send('go')
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'fine' })
      commits.push(store.commits.filter(({ batch }) => batch.expect.some((each) => each.that === 'fence')).length)
      const log = await checkLog(session)
      left.push([log.map((event) => event.type), (await session.messages()).items.map((message) => message.role)])
      await runtime.stop()
    }
    expect(commits[1]).toBe(1)
    expect(commits[0]).toBeGreaterThan(2)
    expect(left[1]).toEqual(left[0])
  })

  it.each(['once', 'idempotent'] as const)('S87, S72: a call that is %s starts after a commit of its intent', async (effect) => {
    const ran: string[] = []
    const states: unknown[] = []
    const memory = memoryStore()
    const tool = defineTool({
      name: effect,
      description: 'Looks at the ledger.',
      inputSchema: z.object({}),
      effect,
      async execute(_input, { runId }) {
        ran.push(effect)
        states.push((await memory.readCalls(runId)).map((each) => each.state))
        return 'done'
      },
    })
    const { runtime } = setup({ steps: [call(effect), { text: 'fine' }], tools: [tool], store: memory, durability: 'turn' })
    const run = await runtime.session('room:1').send('go')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect([ran, states]).toEqual([[effect], [['started']]])
    await runtime.stop()
  })

  it('S87, S36: the buffered writes carry the fence of the run', async () => {
    const store = recordingStore(memoryStore())
    const { runtime } = setup({ steps: [call('pure'), { text: 'fine' }], tools: [counting('pure', [])], store, durability: 'turn' })
    const run = await runtime.session('room:1').send('go')
    await run.result()
    const [last] = store.commits.filter(({ batch }) => batch.writes.some((write) => write.op === 'entry.append'))
    expect(last?.batch.expect).toContainEqual({ that: 'fence', runId: run.runId, epoch: 1 })
    await runtime.stop()
  })
})
