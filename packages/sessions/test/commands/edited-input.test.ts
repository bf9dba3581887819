import { defineTool } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, collect, setup } from '../support.ts'

async function asked() {
  const sent: unknown[] = []
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    inputSchema: z.object({ to: z.string().min(2) }),
    needsApproval: true,
    execute: (input) => {
      sent.push(input)
      return 'sent'
    },
  })
  const store = memoryStore()
  const made = setup({ steps: [{ toolCalls: [{ id: 'c1', name: 'send', input: { to: 'ann' } }] }, { text: 'done' }], tools: [send], store })
  await made.runtime.start()
  const session = made.runtime.session('room:1')
  const run = await session.send('go')
  const { pendingApprovals } = await run.result()
  return { ...made, session, run, sent, store, approvalId: pendingApprovals[0]?.approvalId ?? '' }
}

describe('an approval with an edited input', () => {
  it('S91: the call runs with the edited input, the log reports it, and a repeat changes nothing', async () => {
    const { runtime, session, run, sent, approvalId } = await asked()
    const input = { to: 'bob' }
    const deciding = session.approve(approvalId, { input, by: 'eve' })
    input.to = 'changed by the caller'
    const { run: _, ...receipt } = await deciding
    await collect(session.events({ runId: run.runId }))
    expect(sent).toEqual([{ to: 'bob' }])
    const log = await checkLog(session)
    expect(log.find((event) => event.type === 'approval-resolved')).toMatchObject({
      approvalId,
      decision: 'approve',
      editedInput: { to: 'bob' },
      by: 'eve',
    })
    expect(await session.approve(approvalId, { input: { to: 'bob' } })).toMatchObject({ ...receipt, repeated: true })
    await expect(session.approve(approvalId, { input: { to: 'ann' } })).rejects.toMatchObject({ code: 'approval-conflict' })
    await expect(session.approve(approvalId)).rejects.toMatchObject({ code: 'approval-conflict' })
    await runtime.stop()
  })

  const wrong: readonly { readonly what: string; readonly input: JSONValue }[] = [
    { what: 'does not fit the schema', input: { to: 'x' } },
    { what: 'lacks a field', input: {} },
    { what: 'is no JSON', input: { to: new Date(0) } as unknown as JSONValue },
    { what: 'is null', input: null },
  ]

  it.each(wrong)('S91: an edited input that $what is refused, and nothing is stored', async ({ input }) => {
    const { runtime, session, run, sent, approvalId, store } = await asked()
    const before = await session.info()
    await expect(session.approve(approvalId, { input })).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await session.info()).toEqual(before)
    expect(await store.readInbox('room:1', ['decision'])).toEqual([])
    await session.approve(approvalId)
    await collect(session.events({ runId: run.runId }))
    expect(sent).toEqual([{ to: 'ann' }])
    await runtime.stop()
  })
})
