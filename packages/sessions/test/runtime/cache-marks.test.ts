import { defineAgent, defineTool, type AgentOptions } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { scriptedModel, type Script, type ScriptedModel } from '@bowline/llm/testing'
import { createRuntime, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { logOf } from '../support.ts'

const ids = fakeIds()
const send = defineTool({ name: 'send', description: 'Sends.', inputSchema: z.object({}), needsApproval: true, execute: () => 'sent' })
const asks = { toolCalls: [{ id: 'c1', name: 'send', input: {} }] }
const instructions = { system: 'Be brief.', footer: { date: true } }
const claude = (steps: Script): ScriptedModel => scriptedModel(steps, { provider: 'anthropic.messages' })

/** Starts a process with a runtime. */
async function started(store: SessionStore, model: ScriptedModel, agent: Partial<AgentOptions> = {}) {
  const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model, instructions, tools: [send], ...agent })], store, ids })
  await runtime.start()
  return { runtime, session: runtime.session('room:1') }
}

/** Returns, for each call, the texts and results that are marked for the cache. */
function marksOf({ calls }: ScriptedModel): readonly (readonly unknown[])[] {
  const isMarked = ({ providerOptions }: { providerOptions?: Record<string, Record<string, unknown>> }): boolean =>
    providerOptions?.['anthropic']?.['cacheControl'] !== undefined
  return calls.map(({ prompt }) =>
    prompt.flatMap((message): readonly unknown[] => {
      if (message.role === 'system') return isMarked(message) ? [message.content] : []
      return message.content.flatMap((part) =>
        isMarked(part) ? ['text' in part ? part.text : 'output' in part ? part.output : part.type] : [],
      )
    }),
  )
}

describe('cache marks of a session', () => {
  it('A187, A188: a run that another process resumes has them at the same places, and reports nothing about calls that this process has not seen', async () => {
    const store = memoryStore()
    const first = claude([asks])
    const before = await started(store, first)
    const run = await before.session.send('go')
    const [asked] = (await run.result()).pendingApprovals
    await before.runtime.stop()
    const second = claude([{ text: 'done' }, { text: 'again' }])
    const { runtime, session } = await started(store, second)
    await session.approve(asked?.approvalId ?? '')
    await session.send('more').then((more) => more.result())
    expect([...marksOf(first), ...marksOf(second)]).toEqual([
      ['Be brief.', 'go'],
      ['Be brief.', { type: 'text', value: 'sent' }],
      ['Be brief.', 'more'],
    ])
    expect((await logOf(session)).filter(({ type }) => type === 'usage')).toEqual([])
    await runtime.stop()
  })

  it('A188: turns of one process know the earlier turns, also after an approval', async () => {
    const model = claude([asks, { text: 'done' }, { text: 'other' }])
    const store = memoryStore()
    const { runtime, session } = await started(store, model, { instructions: ({ now }) => `It is ${now}.` })
    const [asked] = (await (await session.send('go')).result()).pendingApprovals
    await session.approve(asked?.approvalId ?? '')
    await session.send('more').then((more) => more.result())
    expect((await logOf(session)).filter(({ type }) => type === 'usage')).toEqual([])
    await runtime.stop()
  })

  it('A187: a subagent in its own session has the setting of its parent', async () => {
    const delegates = { toolCalls: [{ id: 'c1', name: 'delegate_to_helper', input: { prompt: 'help' } }] }
    for (const cache of ['auto', 'off'] as const) {
      const model = claude([delegates, { text: 'done' }])
      const below = claude([{ text: 'helped' }])
      const helper = defineAgent({ name: 'helper', description: 'Helps.', model: below, instructions: 'Help.' })
      const { runtime, session } = await started(memoryStore(), model, { subagents: [helper], cache })
      expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed' })
      expect(marksOf(below)).toEqual(cache === 'auto' ? [['Help.', 'help']] : [[]])
      expect(marksOf(model).flat()).toHaveLength(cache === 'auto' ? 4 : 0)
      await runtime.stop()
    }
  })
})
