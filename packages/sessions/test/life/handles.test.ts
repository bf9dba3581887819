import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { collect, setup } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })

type Code = 'session-missing' | 'session-expired' | 'session-deleted' | 'handle-closed'
type Outcome = 'unknown-run' | Code | 'ok'

/** Outcome of each method for a session that does not exist (any more), in the order of `states`. */
const states = ['missing', 'expired', 'deleted', 'closed', 'deleted before'] as const
const closed: Outcome = 'handle-closed'

interface Row {
  readonly method: Exclude<keyof Session, 'key'>
  readonly call: (session: Session) => Promise<unknown>
  readonly says: readonly [Outcome, Outcome, Outcome, Outcome, Outcome]
}

const reads = ['session-missing', 'ok', 'session-deleted', closed, 'session-deleted'] as const
const writes = ['session-missing', 'session-expired', 'session-deleted', closed, 'session-deleted'] as const
const makes = ['ok', 'session-expired', 'session-deleted', closed, 'ok'] as const

const table: readonly Row[] = [
  { method: 'open', call: (session) => session.open(), says: ['ok', 'ok', 'session-deleted', closed, 'ok'] },
  { method: 'info', call: (session) => session.info(), says: ['ok', 'ok', 'session-deleted', closed, 'ok'] },
  { method: 'send', call: (session) => session.send('go'), says: makes },
  { method: 'steer', call: (session) => session.steer('go'), says: makes },
  { method: 'followUp', call: (session) => session.followUp('go'), says: makes },
  { method: 'overlay', call: (session) => session.overlay('go'), says: makes },
  { method: 'schedule', call: (session) => session.schedule({ every: 1000, input: 'go' }), says: makes },
  { method: 'schedules', call: (session) => session.schedules.list(), says: reads },
  { method: 'schedules', call: (session) => session.schedules.delete('s1'), says: writes },
  { method: 'stop', call: (session) => session.stop(), says: ['ok', 'ok', 'session-deleted', closed, 'ok'] },
  { method: 'submitToolResults', call: (session) => session.submitToolResults([{ toolCallId: 'c1', output: 1 }]), says: writes },
  { method: 'approve', call: (session) => session.approve('a1'), says: writes },
  { method: 'grant', call: (session) => session.grant('a1', { cost: '1' }), says: writes },
  { method: 'deny', call: (session) => session.deny('a1'), says: writes },
  { method: 'resolveTool', call: (session) => session.resolveTool('c1', { unknown: true }), says: writes },
  { method: 'recover', call: (session) => session.recover('r1', 'continue'), says: writes },
  { method: 'kill', call: (session) => session.kill(), says: reads },
  { method: 'delete', call: (session) => session.delete(), says: ['ok', 'ok', 'ok', closed, 'ok'] },
  { method: 'fork', call: (session) => session.fork(), says: reads },
  { method: 'switchTo', call: (session) => session.switchTo(null), says: writes },
  { method: 'branches', call: (session) => session.branches(), says: reads },
  { method: 'label', call: (session) => session.label('e1', 'here'), says: writes },
  { method: 'labels', call: (session) => session.labels(), says: reads },
  { method: 'compact', call: (session) => session.compact(), says: writes },
  { method: 'export', call: (session) => read(session.export()), says: reads },
  { method: 'usage', call: (session) => session.usage(), says: reads },
  { method: 'state', call: (session) => session.state.get(), says: reads },
  { method: 'state', call: (session) => session.state.set(1), says: writes },
  { method: 'events', call: (session) => collect(session.events({ live: false })), says: reads },
  { method: 'messages', call: (session) => session.messages(), says: reads },
  {
    method: 'run',
    call: (session) => session.run('r1'),
    says: ['session-missing', 'unknown-run', 'session-deleted', closed, 'session-deleted'],
  },
  { method: 'runs', call: (session) => session.runs(), says: reads },
]

async function read(lines: AsyncIterable<string>): Promise<void> {
  for await (const _ of lines) continue
}

async function sessionThatIs(state: (typeof states)[number]): Promise<{ readonly session: Session; readonly end: () => Promise<void> }> {
  const clock = manualClock()
  const { runtime } = setup({ steps: [], store: memoryStore(), clock, concurrency: 0 })
  await runtime.start()
  const session = runtime.session('room:1', { ttl: { maxAgeMs: 1_000 } })
  if (state !== 'missing') await session.open()
  if (state === 'expired') await clock.advance(1_000)
  if (state === 'deleted' || state === 'deleted before') await session.delete()
  if (state === 'closed') await session.kill()
  return { session: state === 'deleted before' ? runtime.session('room:1') : session, end: () => runtime.stop() }
}

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'ok'
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('a handle of a missing session', () => {
  it('S106: the table names every method of a handle', async () => {
    const { session, end } = await sessionThatIs('missing')
    expect([...new Set(table.map((row) => row.method))].sort()).toEqual(
      Object.keys(session)
        .filter((name) => name !== 'key')
        .sort(),
    )
    await end()
  })

  it.each(table)(
    'S40, S106, S161: $method returns different errors for missing, expired, deleted and closed sessions',
    async ({ call, says }) => {
      const said: string[] = []
      for (const state of states) {
        const { session, end } = await sessionThatIs(state)
        said.push(await outcomeOf(call(session)))
        await end()
      }
      expect(said).toEqual(says)
    },
  )

  it.each(table)(
    'S39, S106: $method of a handle from before a deletion never acts on the session that was created after it',
    async ({ method, call }) => {
      const { runtime } = setup({ steps: [], concurrency: 0 })
      await runtime.start()
      const old = runtime.session('room:1')
      await old.open()
      await runtime.session('room:1').delete()
      const fresh = runtime.session('room:1')
      await fresh.open()
      const before = await fresh.info()
      expect(await outcomeOf(call(old))).toBe(method === 'delete' ? 'ok' : 'session-deleted')
      expect(await fresh.info()).toEqual(before)
      await runtime.stop()
    },
  )

  it.each(table)('S5: $method of a handle with another owner finds no session, and changes nothing', async ({ method, call }) => {
    const { runtime } = setup({ steps: [], concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1', { owner: 'ann' })
    await session.open()
    const before = await session.info()
    const isQuiet = method === 'info' || method === 'delete'
    expect(await outcomeOf(call(runtime.session('room:1', { owner: 'eve' })))).toBe(isQuiet ? 'ok' : 'session-missing')
    expect(await session.info()).toEqual(before)
    await runtime.stop()
  })

  it('S104: a killed session goes on under a new handle', async () => {
    const { runtime } = setup({ steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }, { text: 'again' }], tools: [place] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('where?')).result()
    await session.kill()
    const next = runtime.session('room:1')
    expect((await next.messages()).items).toHaveLength(3)
    expect(await (await next.send('and now?')).result()).toMatchObject({ status: 'completed', text: 'again' })
    await runtime.stop()
  })
})

describe('run', () => {
  it('S23: returns a handle of a run that the session accepted before, and none of another session', async () => {
    const { runtime } = setup({ steps: [{ text: 'done' }] })
    await runtime.start()
    const session = runtime.session('room:1')
    const { runId } = await session.send('go')
    expect(await (await session.run(runId)).result()).toMatchObject({ runId, status: 'completed', text: 'done' })
    const other = runtime.session('room:2')
    await other.open()
    await expect(other.run(runId)).rejects.toMatchObject({ code: 'unknown-run' })
    await expect(session.run('')).rejects.toMatchObject({ code: 'invalid-input' })
    await runtime.stop()
  })
})
