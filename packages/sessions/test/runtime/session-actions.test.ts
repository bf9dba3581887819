import { defineExtension, type Hooks, type SessionActions } from '@bowline/agent-loop'
import { describe, expect, it } from 'vitest'
import type { Session } from '@bowline/sessions'
import { setup, type SetupOptions } from '../support.ts'

type Act = (actions: SessionActions) => Promise<unknown>

/** Creates a runtime whose extension acts once after the first run, with the result of the action. */
function acting(
  act: Act,
  name: 'onAgentEnd' | 'onSettled' = 'onSettled',
  steps: SetupOptions['steps'] = [{ text: 'one' }, { text: 'two' }, { text: 'three' }],
) {
  const done = Promise.withResolvers<PromiseSettledResult<unknown>>()
  let acted = false
  const hook: Hooks['onSettled'] = (_event, { session }) => {
    if (acted || !session) return
    acted = true
    void Promise.allSettled([act(session)]).then(([result]) => done.resolve(result))
  }
  const acts = defineExtension({ name: 'acts', hooks: { [name]: hook } })
  const made = setup({ steps, agent: { extensions: [acts], compaction: { keepRecentTokens: 1, minShrink: 0 } } })
  return { ...made, session: made.runtime.session('room:1'), done: done.promise }
}

const texts = async (session: Session) => JSON.stringify((await session.messages()).items)

describe('actions of an extension after a turn', () => {
  it.each(['onAgentEnd', 'onSettled'] as const)('A199: it forks the session once the run is at rest, from %s', async (hook) => {
    const { runtime, session, done, faults } = acting(async (actions) => actions.fork({ key: 'room:copy' }), hook)
    await (await session.send('go')).result()
    expect(await done).toEqual({ status: 'fulfilled', value: { key: 'room:copy' } })
    expect(await texts(runtime.session('room:copy'))).toContain('one')
    expect(await (await runtime.session('room:copy').send('on')).result()).toMatchObject({ status: 'completed', text: 'two' })
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('A199: it switches to the beginning, and the next input does not see the old branch', async () => {
    const { runtime, session, done } = acting((actions) => actions.switchTo(null))
    await (await session.send('go')).result()
    expect((await done).status).toBe('fulfilled')
    await (await session.send('again')).result()
    const path = await texts(session)
    expect(path).toContain('two')
    expect(path).not.toContain('one')
    await runtime.stop()
  })

  it('A199: it sends an input to a new session of the same agent and owner', async () => {
    const { runtime, session, done } = acting((actions) => actions.send('room:2', 'hello over there'))
    await (await session.send('go')).result()
    const sent = await done
    expect(sent).toMatchObject({ status: 'fulfilled', value: { runId: expect.any(String) as string } })
    const there = runtime.session('room:2')
    for await (const event of there.events()) if (event.type === 'settled') break
    expect((await there.messages()).items).toHaveLength(2)
    expect(await there.info()).toMatchObject({ agent: 'assistant' })
    await runtime.stop()
  })

  it('A199: it compacts the conversation', async () => {
    const { runtime, session, done } = acting((actions) => actions.compact({ instructions: 'Keep names.' }), 'onSettled', [
      { text: 'one' },
      { text: 'a summary of it' },
    ])
    await (await session.send('go')).result()
    expect((await done).status).toBe('fulfilled')
    await runtime.stop()
  })

  it('A199: a busy session refuses the action, and the runtime is told', async () => {
    const { runtime, session, done, faults } = acting((actions) => actions.switchTo(null), 'onAgentEnd')
    const first = await session.send('go')
    const second = await session.send('and on')
    await Promise.all([first.result(), second.result()])
    const refused = await done
    if (refused.status === 'rejected') {
      expect(refused.reason).toMatchObject({ code: 'busy' })
      expect(faults).toMatchObject([{ code: 'busy' }])
    }
    expect(refused.status).toBe('rejected')
    await runtime.stop()
  })

  it('A199: a stopped runtime leaves no action waiting', async () => {
    const asked = Promise.withResolvers<PromiseSettledResult<unknown>>()
    const acts = defineExtension({
      name: 'acts',
      hooks: {
        onTurnStart: (_event, { session }) =>
          void (session && Promise.allSettled([session.fork()]).then(([result]) => asked.resolve(result))),
      },
    })
    const begun = Promise.withResolvers<void>()
    const { runtime } = setup({ steps: () => (begun.resolve(), new Promise<never>(() => undefined)), agent: { extensions: [acts] } })
    await runtime.session('room:1').send('go')
    await begun.promise
    await runtime.stop({ graceMs: 0 })
    expect((await asked.promise).status).toBe('rejected')
  })

  it('A199: bad options are refused by name', async () => {
    const { runtime, session, done } = acting((actions) => actions.fork({ keys: 'x' } as never))
    await (await session.send('go')).result()
    expect(await done).toMatchObject({
      status: 'rejected',
      reason: { code: 'invalid-input', message: expect.stringMatching(/"keys"/) as string },
    })
    await runtime.stop()
  })
})
