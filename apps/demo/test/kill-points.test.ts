import type { Batch, SessionStore } from '@bowline/sessions'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKillPoints } from '../src/server/kill-points.ts'
import type { KillPoints } from '../src/server/kill-points.ts'
import { createDemoFetch } from '../src/server/demo-fetch.ts'
import { makeDataFolder, removeDataFolder } from './demo-process.ts'
import { manualTime } from './manual-time.ts'

const key = 'tenant:demo:s:mine'
const port = 8787

let dataFolder: string
beforeEach(async () => {
  dataFolder = await makeDataFolder()
})
afterEach(() => removeDataFolder(dataFolder))

function batch(type = 'step-end', of = key): Batch {
  return { id: 'b', key: of, expect: [], writes: [{ op: 'event.append', events: [{ event: { type } }] }] } as unknown as Batch
}

/** Returns a process on a store that records commits. `said` lists its actions, including its death. */
function processOf(time = manualTime(), ok = true) {
  const said: string[] = []
  const store = {
    state: 'its own',
    async commit({ writes: [write] }: Batch) {
      said.push((write as unknown as { events: [{ event: { type: string } }] }).events[0].event.type)
      return { ok }
    },
  } as unknown as SessionStore
  const points = createKillPoints(dataFolder, time.clock, () => said.push('died'))
  const around = points.around(store)
  return {
    said,
    points,
    store: around,
    time,
    /** Commits and waits a limited time: a dead process never answers. */
    async commit(...batches: readonly Batch[]) {
      for (const one of batches) await Promise.race([around.commit(one), time.settle()])
    },
  }
}

describe('a moment at which a server dies', () => {
  it('D24: is right before the next commit of the session, and nothing of the commit is stored', async () => {
    const { said, points, commit } = processOf()
    await points.set('tenant:demo:s:mine', 'before-commit')
    await commit(batch('other', 'tenant:demo:s:other'), batch('lost'))
    expect(said).toEqual(['other', 'died'])
  })

  it('D24: is right after the next accepted commit of the session', async () => {
    const { said, points, commit } = processOf()
    await points.set(key, 'after-commit')
    await commit(batch('kept'))
    expect(said).toEqual(['kept', 'died'])
    const refused = processOf(manualTime(), false)
    await refused.points.set(key, 'after-commit')
    await refused.commit(batch('refused'))
    expect(refused.said).toEqual(['refused'])
  })

  it('D24: is in the next tool: after its start is stored, and soon or before its outcome, whichever comes first', async () => {
    const soon = processOf()
    await soon.points.set(key, 'in-tool')
    await soon.commit(batch('step-start'), batch('tool-execution-start'))
    expect(soon.said).toEqual(['step-start', 'tool-execution-start'])
    soon.time.advance(100)
    expect(soon.said.at(-1)).toBe('died')
    const fast = processOf()
    await fast.points.set(key, 'in-tool')
    await fast.commit(batch('tool-execution-start'), batch('child-start'), batch('tool-execution-end'))
    expect(fast.said).toEqual(['tool-execution-start', 'child-start', 'died'])
    fast.time.advance(100)
    expect(fast.said).toHaveLength(3)
  })

  it('D58: is right after the next stored outcome of a tool', async () => {
    const { said, points, commit } = processOf()
    await points.set(key, 'after-result')
    await commit(batch('tool-execution-start'), batch('tool-execution-end'))
    expect(said).toEqual(['tool-execution-start', 'tool-execution-end', 'died'])
  })

  it('D24: is taken by only one of several processes', async () => {
    const [one, other] = [processOf(), processOf()]
    await one.points.set(key, 'before-commit')
    await other.commit(batch('lost'))
    await one.commit(batch('taken up'))
    expect([other.said, one.said]).toEqual([['died'], ['taken up']])
  })

  it('D24: no longer applies once it was cancelled, also during a running tool, and the moment of another session stays', async () => {
    const { said, points, commit, time } = processOf()
    await points.set(key, 'in-tool')
    await commit(batch('tool-execution-start'))
    await points.clear(key)
    time.advance(100)
    await commit(batch('tool-execution-end'))
    await points.set(key, 'before-commit')
    await points.clear('tenant:demo:s:other')
    await commit(batch('lost'))
    await points.clear(key)
    expect(said).toEqual(['tool-execution-start', 'tool-execution-end', 'died'])
  })

  it('expires after a minute, and a later one replaces it', async () => {
    const { said, points, commit, time } = processOf()
    await points.set(key, 'before-commit')
    await points.set('tenant:demo:s:other', 'before-commit')
    await commit(batch('kept'))
    expect(await points.set(key, 'before-commit')).toBe(time.clock.now() + 60_000)
    time.advance(60_000)
    await commit(batch('kept too'))
    expect(said).toEqual(['kept', 'kept too'])
  })

  it('leaves all other properties of the store unchanged', () => {
    expect(processOf().store.state).toBe('its own')
  })
})

describe('POST /studio/kill', () => {
  const info = { canKill: true }
  const effects = async () => ({ payments: 0, deletions: 0 })
  const api = { fetch: () => Promise.reject(new Error('The API was asked.')) }

  function kill(body: string, given: { readonly points?: KillPoints }, remoteAddress = '127.0.0.1') {
    const fetch = createDemoFetch({ port, token: 'secret', info, effects, pageFolder: dataFolder, api, ...given })
    return fetch(
      new Request(`http://127.0.0.1:${port}/studio/kill`, { method: 'POST', headers: { cookie: `bowline-demo-${port}=secret` }, body }),
      { remoteAddress },
    )
  }

  it.each(['before-commit', 'after-commit', 'in-tool'] as const)('D24: sets the moment %s for a session', async (at) => {
    const asked: unknown[] = []
    const points = {
      around: (store: SessionStore) => store,
      clear: () => Promise.resolve(),
      set: async (...given: unknown[]) => asked.push(given),
    }
    const response = await kill(JSON.stringify({ at, sessionId: 'mine' }), { points })
    expect([response.status, await response.json()]).toEqual([202, { at, until: 1 }])
    expect(asked).toEqual([[key, at]])
  })

  it('D24: cancels a moment', async () => {
    const { points, said, commit } = processOf()
    await points.set(key, 'before-commit')
    expect((await kill(JSON.stringify({ at: null, sessionId: 'mine' }), { points })).status).toBe(204)
    await commit(batch('kept'))
    expect(said).toEqual(['kept'])
  })

  it.each([
    ['no JSON', '{'],
    ['nothing', 'null'],
    ['neither', '{}'],
    ['both', '{"delayMs":0,"at":"in-tool","sessionId":"mine"}'],
    ['a moment without a session', '{"at":"in-tool"}'],
    ['a moment of no session', '{"at":"in-tool","sessionId":"../x"}'],
    ['an unknown moment', '{"at":"now","sessionId":"mine"}'],
    ['a delay that is too long', '{"delayMs":5001}'],
    ['an unknown key', '{"delayMs":0,"when":1}'],
  ])('D25: refuses %s, and says what it accepts', async (_, body) => {
    const { points } = processOf()
    const response = await kill(body, { points })
    expect([response.status, await response.json()]).toEqual([
      400,
      { code: 'invalid-body', detail: expect.stringContaining('before-commit, after-commit, in-tool') as unknown },
    ])
  })

  it('D25: does not exist if the server may not be killed, or for requests from elsewhere', async () => {
    const { points } = processOf()
    const body = JSON.stringify({ at: 'in-tool', sessionId: 'mine' })
    expect((await kill(body, {})).status).toBe(404)
    expect((await kill(body, { points }, '10.0.0.7')).status).toBe(404)
  })
})
