import { describe, expect, it } from 'vitest'
import { createBridge, inProcessExecutor } from '../src/index.ts'
import type { BridgeNotice } from '../src/index.ts'
import { codeOf, failureOf, outcomeOf, recordingLogger, startBridge, testAgent } from './support.ts'

describe('the list of sessions', () => {
  it("B24: shows the caller's sessions, newest first, by agent and status", async () => {
    const { bridge, clock } = await startBridge([testAgent('a'), testAgent('b')])
    const ids: string[] = []
    for (const agentId of ['a', 'b', 'a']) {
      ids.unshift((await bridge.createSession({ agentId })).sessionId)
      await clock.advance(10)
    }
    await bridge.createSession({ owner: 'ann' })
    const listed = async (filter: object) => (await bridge.sessions(filter)).sessions.map(({ sessionId }) => sessionId)
    expect(await listed({})).toEqual(ids)
    expect(await listed({ agentId: 'b' })).toEqual([ids[1]])
    await bridge.prompt({ sessionId: ids[2] ?? '', prompt: 'hi' }).result()
    expect(await listed({ status: 'idle' })).toEqual([ids[2]])
    expect(await listed({ status: 'active' })).toEqual([ids[0], ids[1]])
    expect(await listed({ agentId: 'a', status: 'active' })).toEqual([ids[0]])
    expect(await listed({ agentId: 'b', status: 'idle' })).toEqual([])
  })

  it('B24: returns fifty, and a cursor only if there are more', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    for (let count = 0; count < 50; count++) await bridge.createSession()
    const all = await bridge.sessions()
    expect(all.sessions).toHaveLength(50)
    expect(all).not.toHaveProperty('nextCursor')
    expect(await bridge.sessions({ limit: 50 })).toEqual(all)
    await bridge.createSession()
    const first = await bridge.sessions()
    expect(first.sessions).toHaveLength(50)
    const last = await bridge.sessions({ cursor: first.nextCursor ?? '' })
    expect(last.sessions).toHaveLength(1)
    expect(new Set([...first.sessions, ...last.sessions].map(({ sessionId }) => sessionId)).size).toBe(51)
  })

  it('B24: a cursor stays valid under inserts and deletes', async () => {
    const { bridge, clock } = await startBridge([testAgent('a')])
    const ids: string[] = []
    for (let n = 0; n < 6; n++) {
      ids.unshift((await bridge.createSession()).sessionId)
      await clock.advance(n % 2)
    }
    const all = (await bridge.sessions()).sessions.map(({ sessionId }) => sessionId)
    const first = await bridge.sessions({ limit: 2 })
    await bridge.createSession()
    await bridge.close({ sessionId: all[1] ?? '' })
    await bridge.close({ sessionId: all[2] ?? '' })
    const second = await bridge.sessions({ limit: 2, cursor: first.nextCursor ?? '' })
    const third = await bridge.sessions({ limit: 2, cursor: second.nextCursor ?? '' })
    expect([...second.sessions, ...third.sessions].map(({ sessionId }) => sessionId)).toEqual(all.slice(3))
    expect(third).not.toHaveProperty('nextCursor')
  })

  it.each([null, {}, 5, [], [1], [null, 's'], ['1', 's'], [1, 2]])('B24: a cursor that contains %j is PROTOCOL', async (place) => {
    const { bridge } = await startBridge([testAgent('a')])
    await bridge.createSession()
    const cursor = Buffer.from(JSON.stringify(place)).toString('base64url')
    expect(await codeOf(bridge.sessions({ cursor }))).toBe('PROTOCOL')
  })

  it.each([[{ limit: 0 }], [{ limit: 201 }], [{ cursor: 'none' }], [{ status: 'gone' }], [{ agentId: '' }]])(
    '%j is PROTOCOL',
    async (filter) => {
      const { bridge } = await startBridge([testAgent('a')])
      expect(await codeOf(bridge.sessions(filter as never))).toBe('PROTOCOL')
    },
  )
})

describe('access of other owners', () => {
  it('an agent that an owner may not use is not found for that owner', async () => {
    const logger = recordingLogger()
    const authorize = (owner: string, _action: string, agentId: string): boolean => owner === 'ann' || agentId === 'a'
    const bridge = createBridge({ executors: [inProcessExecutor({ agents: [testAgent('a'), testAgent('b')] })], logger, authorize })
    await bridge.start()
    expect(bridge.discover({ owner: 'bob' }).map(({ id }) => id)).toEqual(['a'])
    expect(bridge.discover({ owner: 'ann' })).toHaveLength(2)
    await expect(bridge.createSession({ owner: 'bob', agentId: 'b' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'No agent b; there is a',
    })
    expect(failureOf(await bridge.delegate({ owner: 'bob', agentId: 'b', prompt: 'hi' }).result()).code).toBe('NOT_FOUND')
    outcomeOf(await bridge.delegate({ owner: 'ann', agentId: 'b', prompt: 'hi' }).result())
  })

  it('B116: the log says which session was closed, its owner and the reason, once', async () => {
    const { bridge, logger } = await startBridge([testAgent('a')])
    const sessions = [await bridge.createSession({ owner: 'ann' }), await bridge.createSession()]
    const [ofAnn = '', own = ''] = sessions.map(({ sessionId }) => sessionId)
    for (const repeat of [1, 2]) await bridge.close({ sessionId: ofAnn, owner: 'ann', reason: `done ${repeat}` })
    await bridge.close({ sessionId: own })
    const closed = logger.lines.filter(({ message }) => message === 'session closed').map(({ fields }) => fields)
    expect(closed).toEqual([
      { sessionId: ofAnn, owner: 'ann', reason: 'done 1' },
      { sessionId: own, owner: 'local' },
    ])
  })

  it('B116: every transition and refusal is one line of the log, one event and one count', async () => {
    const notices: BridgeNotice[] = []
    const { bridge, logger } = await startBridge([testAgent('a')], { onEvent: (notice) => void notices.push(notice) })
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    failureOf(await bridge.prompt({ sessionId, prompt: '' }).result())
    await bridge.close({ sessionId })
    const told = notices.map((notice) =>
      notice.type === 'refused' ? `${notice.call} ${notice.code}` : 'to' in notice ? `${notice.type} ${notice.to}` : notice.type,
    )
    expect(told).toEqual([
      ...['session-changed active', 'session-changed busy', 'request-changed completed', 'session-changed idle'],
      ...['prompt PROTOCOL', 'session-changed over'],
    ])
    const lines = logger.lines.filter(({ message }) => /^(session|request) (changed|refused)$/.test(message))
    expect(lines).toHaveLength(notices.length)
    expect(lines[2]?.fields).toMatchObject({ requestId: 'r1', sessionId, agentId: 'a', owner: 'local' })
    expect(bridge.counters()).toMatchObject({
      sessionsOpened: 1,
      sessionsClosed: { closed: 1 },
      requests: { completed: 1 },
      refused: 1,
      inFlight: 0,
    })
  })
})
