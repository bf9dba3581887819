import { systemClock } from '@bowline/llm'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { StudioInfo } from '@bowline/studio/info'
import { createDemoFetch } from '../src/server/demo-fetch.ts'
import type { ServerProcess } from '../src/server/process-messages.ts'
import { createKillPoints } from '../src/server/kill-points.ts'
import { createServerGroup } from '../src/server/server-group.ts'

const info = { canKill: true }
const points = createKillPoints('/nowhere', systemClock)
const effects = async () => ({ payments: 0, deletions: 0 })
const port = 8787
const peer = { remoteAddress: '127.0.0.1' }

const ownPid = process.pid
const up = (pid: number, runtimeId: string) => ({ pid, runtimeId })

/** Returns a process of a group of two. `owner` executes the only run, that of the session `mine`. */
function member(processes: readonly ServerProcess[], owner?: string) {
  const listRuns = async (key: string, query: object) => {
    expect(query).toEqual({ status: ['running'], limit: 1 })
    return { items: key === 'tenant:demo:s:mine' && owner !== undefined ? [{ owner }] : [] }
  }
  const group = createServerGroup({ listRuns } as unknown as Parameters<typeof createServerGroup>[0], () => processes)
  const api = { fetch: () => Promise.reject(new Error('The API was asked.')) }
  const fetch = createDemoFetch({ port, token: 'secret', info, effects, group, points, pageFolder: import.meta.dirname, api })
  return (path: string, init: RequestInit = {}) =>
    fetch(new Request(`http://127.0.0.1:${port}${path}`, { ...init, headers: { cookie: `bowline-demo-${port}=secret` } }), peer)
}

const both = [
  { name: 'A', up: up(101, 'runtime_a') },
  { name: 'B', up: up(102, 'runtime_b') },
]

describe('GET /studio/info of one of several processes', () => {
  const serversOf = async (response: Response) => ((await response.json()) as StudioInfo).servers

  it('names all of them, and the one that executes the run of the session', async () => {
    const ask = member(both, 'runtime_b')
    expect(await serversOf(await ask('/studio/info?session=mine'))).toEqual([
      { name: 'A', pid: 101, runtimeId: 'runtime_a', isOwner: false },
      { name: 'B', pid: 102, runtimeId: 'runtime_b', isOwner: true },
    ])
    for (const path of ['/studio/info', '/studio/info?session=other']) {
      expect(await serversOf(await ask(path))).toEqual([
        { name: 'A', pid: 101, runtimeId: 'runtime_a', isOwner: false },
        { name: 'B', pid: 102, runtimeId: 'runtime_b', isOwner: false },
      ])
    }
  })

  it('names no owner while the run still belongs to a process that died, whether down or restarted', async () => {
    const after = [
      [{ name: 'A' }, both[1]],
      [{ name: 'A', up: up(103, 'runtime_c') }, both[1]],
    ] as ServerProcess[][]
    for (const processes of after) {
      const servers = await serversOf(await member(processes, 'runtime_a')('/studio/info?session=mine'))
      expect(servers?.map(({ isOwner }) => isOwner)).toEqual([false, false])
    }
    expect(await serversOf(await member(after[0] ?? [])('/studio/info'))).toEqual([
      { name: 'A', isOwner: false },
      { name: 'B', pid: 102, runtimeId: 'runtime_b', isOwner: false },
    ])
  })

  it('refuses a value that is not a session id', async () => {
    expect((await member(both)('/studio/info?session=../x')).status).toBe(400)
  })
})

describe('POST /studio/kill to one of several processes', () => {
  const killed: unknown[] = []

  beforeEach(() => {
    vi.useFakeTimers()
    vi.spyOn(process, 'kill').mockImplementation((...given) => {
      killed.push(given)
      return true
    })
  })

  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    killed.splice(0)
  })

  const kill = (ask: ReturnType<typeof member>, body: object) => ask('/studio/kill', { method: 'POST', body: JSON.stringify(body) })

  it('D24: kills the process that executes the run of the session, whichever process gets the request', async () => {
    const response = await kill(member(both, 'runtime_a'), { delayMs: 0, sessionId: 'mine' })
    expect([response.status, await response.json()]).toEqual([202, { pid: 101, delayMs: 0 }])
    await vi.runAllTimersAsync()
    expect(killed).toEqual([[101, 'SIGKILL']])
  })

  it('D24: after a delay it kills the process that executes the run by then', async () => {
    const processes = [...both]
    await kill(member(processes, 'runtime_a'), { delayMs: 3000, sessionId: 'mine' })
    processes[0] = { name: 'A', up: up(103, 'runtime_c') }
    processes[1] = { name: 'B', up: up(104, 'runtime_a') }
    await vi.advanceTimersByTimeAsync(2999)
    expect(killed).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(killed).toEqual([[104, 'SIGKILL']])
  })

  it('D24: without a run it kills the process that got the request', async () => {
    for (const body of [{ delayMs: 0, sessionId: 'other' }, { delayMs: 0 }]) await kill(member(both, 'runtime_a'), body)
    await vi.runAllTimersAsync()
    expect(killed).toEqual(Array(2).fill([ownPid, 'SIGKILL']))
  })

  it('D25: accepts only the id of a session', async () => {
    for (const sessionId of ['../x', 7, null]) expect((await kill(member(both), { delayMs: 0, sessionId })).status).toBe(400)
    await vi.runAllTimersAsync()
    expect(killed).toEqual([])
  })
})
