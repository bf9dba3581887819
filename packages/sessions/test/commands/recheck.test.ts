import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { scriptedModel, type Script } from '@bowline/llm/testing'
import { createRuntime, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { checkLog, collect, types } from '../support.ts'

const ids = fakeIds()
const asks = { toolCalls: [{ id: 'a', name: 'pay', input: { sum: 5 } }] }
const delegates = { toolCalls: [{ id: 'd', name: 'delegate_to_helper', input: { prompt: 'help' } }] }

interface Code {
  readonly store: SessionStore
  readonly steps: Script
  readonly description?: string
  /** Answers of a subagent. If given, the subagent has the tool. */
  readonly below?: Script
  /** Default true. If false, the process takes decisions and executes no run. */
  readonly runs?: boolean
}

/** Creates a process with one version of the code. */
async function version({ store, steps, description = 'Pays.', below, runs = true }: Code) {
  const paid: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description,
    inputSchema: z.object({ sum: z.number() }),
    needsApproval: true,
    recheck: true,
    execute: (input) => void paid.push(input),
  })
  const helper = below && defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel(below), tools: [pay] })
  const agent = defineAgent({ name: 'assistant', model: scriptedModel(steps), ...(helper ? { subagents: [helper] } : { tools: [pay] }) })
  const runtime = createRuntime({ agents: [agent], store, ids, onError: () => undefined })
  if (runs) await runtime.start()
  return { runtime, session: runtime.session('room:1'), paid }
}

type Process = Awaited<ReturnType<typeof version>>

async function restOf({ runtime, session }: Process, runId: string) {
  await collect(session.events({ runId }))
  return runtime.run(runId)
}

function sqlite(): SessionStore {
  const folder = mkdtempSync(join(tmpdir(), 'recheck-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return sqliteStore({ file: join(folder, 'store.db') })
}

describe('recheck', () => {
  it.each([
    ['memory', memoryStore],
    ['SQLite', sqlite],
  ] as const)(
    'A198: after a restart an approved call is asked about again if its code changed, and runs if not: %s',
    async (_name, open) => {
      for (const description of ['Pays.', 'Pays twice.']) {
        const store = open()
        const first = await version({ store, steps: [asks] })
        const run = await first.session.send('go')
        const [question] = (await run.result()).pendingApprovals
        const approvalId = question?.approvalId ?? ''
        await first.runtime.stop()
        const isSame = description === 'Pays.'
        const second = await version({ store, steps: [{ text: 'done' }], description })
        expect(await second.session.approve(approvalId)).toMatchObject({ decision: 'approve', repeated: false })
        const rest = await restOf(second, run.runId)
        expect([rest?.status, second.paid]).toEqual(isSame ? ['completed', [{ sum: 5 }]] : ['waiting-for-user', []])
        if (!isSame) {
          const [again] = rest?.pendingApprovals ?? []
          expect(again).toMatchObject({ toolCallId: 'a', input: { sum: 5 }, replaces: approvalId })
          await second.session.approve(again?.approvalId ?? '')
          expect([(await restOf(second, run.runId))?.status, second.paid]).toEqual(['completed', [{ sum: 5 }]])
        }
        await checkLog(second.session)
        await second.runtime.stop()
      }
    },
  )

  it('A198: a changed call is also asked about again if the process that took the decision died before the call started', async () => {
    const store = memoryStore()
    const first = await version({ store, steps: [asks] })
    const run = await first.session.send('go')
    const [question] = (await run.result()).pendingApprovals
    await first.runtime.stop()
    const taker = await version({ store, steps: [], runs: false })
    await taker.session.approve(question?.approvalId ?? '')
    await taker.runtime.stop()
    const next = await version({ store, steps: [], description: 'Pays twice.' })
    const rest = await restOf(next, run.runId)
    expect([rest?.status, first.paid, taker.paid, next.paid]).toEqual(['waiting-for-user', [], [], []])
    expect(rest?.pendingApprovals).toMatchObject([{ replaces: question?.approvalId }])
    await next.runtime.stop()
  })

  it('A198: the call of a subagent with a session of its own is asked about again at the root', async () => {
    const store = memoryStore()
    const first = await version({ store, steps: [delegates], below: [asks] })
    const run = await first.session.send('go')
    const [question] = (await run.result()).pendingApprovals
    expect(question?.path).toEqual(['d'])
    await first.runtime.stop()
    const second = await version({ store, steps: [{ text: 'ok' }], below: [{ text: 'paid' }], description: 'Pays twice.' })
    await second.session.approve(question?.approvalId ?? '')
    const rest = await restOf(second, run.runId)
    const [again, ...others] = rest?.pendingApprovals ?? []
    expect(again).toMatchObject({ path: ['d'], replaces: question?.approvalId })
    expect(others).toEqual([])
    expect(second.paid).toEqual([])
    await second.session.approve(again?.approvalId ?? '')
    expect([(await restOf(second, run.runId))?.status, second.paid]).toEqual(['completed', [{ sum: 5 }]])
    const log = await checkLog(second.session)
    expect(types(log).filter((type) => type.startsWith('approval'))).toEqual([
      'approval-requested',
      'approval-resolved',
      'approval-requested',
      'approval-resolved',
    ])
    await second.runtime.stop()
  })
})
