import { describe, expect, it } from 'vitest'
import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { RunView } from '@bowline/agent-loop/events'
import { ask, openSession, servedWorker, startWorkers } from './support.ts'
import type { Prompted } from './support.ts'

const looper = servedWorker({ id: 'looper' }, 'loop-worker')

function viewOf({ events }: Prompted): RunView {
  return events.reduce((view, event) => (event.type === 'agent-event' ? reduceEvents(view, event.event) : view), emptyView)
}

function textOf(prompted: Prompted): string {
  const message = viewOf(prompted).messages.findLast(({ role }) => role === 'assistant')
  return JSON.stringify(message)
}

describe('serveWorker with an agent of the loop', () => {
  it('B31: its events come unchanged, and the conversation goes on in its session', async () => {
    const { executor } = await startWorkers([looper])
    const [session, other] = [await openSession(executor, 'looper'), await openSession(executor, 'looper', 'bs_2')]
    const first = await ask(executor, session, 'hello')
    expect(first.result).toBeUndefined()
    expect(viewOf(first).status).toBe('completed')
    const before = Number(/so far: (\d+)/.exec(textOf(first))?.[1])
    expect(Number(/so far: (\d+)/.exec(textOf(await ask(executor, session, 'again')))?.[1])).toBe(before + 2)
    expect(Number(/so far: (\d+)/.exec(textOf(await ask(executor, other, 'hello')))?.[1])).toBe(before)
    expect(executor.agents()[0]).toMatchObject({ id: 'looper', description: 'Loops.', durable: false })
  })

  it('B41: its pending work is answered in the next attempt: approvals and calls', async () => {
    const { executor } = await startWorkers([looper])
    const session = await openSession(executor, 'looper')
    const waits = viewOf(await ask(executor, session, 'pay', { requestId: 'r1' }))
    expect(waits).toMatchObject({ status: 'waiting-for-user', outcome: 'awaiting-approval' })
    const id = waits.pendingApprovals[0]?.approvalId as string
    const paid = await ask(executor, session, '', { requestId: 'r1', answers: [{ id, decision: 'approve', input: { amount: 7 } }] })
    expect(textOf(paid)).toContain('paid 7')
    expect(viewOf(await ask(executor, session, 'locate', { requestId: 'r2' })).outcome).toBe('awaiting-tools')
    const located = await ask(executor, session, '', { requestId: 'r2', answers: [{ id: 'c2', output: 'at sea' }] })
    expect(textOf(located)).toContain('at sea')
  })
})
