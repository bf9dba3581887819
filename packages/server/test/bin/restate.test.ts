import { describe, expect, it } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { isRestateMissing, sharedRestate, titleWithRestate } from '../../../../scripts/restate.ts'
import { say, temporaryFolder } from '../support/bench.ts'
import { bundledAgents, commandResult, servingCommand } from '../support/command.ts'
import { allFrames, completion, framesUntil, type Frame } from '../support/frames.ts'

const mine = '/api/agent/session/mine'
const isType = (type: string) => (frame: Frame) => frame.data.type === type

function execute(url: string, content: string, sessionId = 'mine'): Promise<Response> {
  const body = JSON.stringify({ sessionId, input: say(content), context: {} })
  return fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

describe('bowline-server with placement restate', () => {
  it('V86: is refused without a store for many servers, and with a wrong address', async () => {
    const usual = ['check', '--agents', bundledAgents(), '--auth', 'none', '--placement', 'restate']
    const { code, stderr } = await commandResult([...usual, '--restate.url', 'restate:8080'], { folder: temporaryFolder() })
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^bowline-server: placement \(--placement\): restate moves sessions between servers, so they need a store on Postgres/m,
    )
    expect(stderr).toMatch(/^bowline-server: restate\.url .*must be a URL with http or https/m)
  })
})

describe.skipIf(isRestateMissing)(titleWithRestate('bowline-server on Restate'), () => {
  const restate = sharedRestate()
  const database = testDatabase()

  it('V90, V39: Restate moves the sessions, a server that takes no work streams them, and a killed one loses nothing', async () => {
    const folder = temporaryFolder()
    const flags = ['--store', database.url, '--placement', 'restate', '--restate.url', restate().url, '--restate.port', '0']
    const [worker, door] = [await servingCommand(flags, { folder }), await servingCommand(flags, { folder })]
    const [, address = ''] = await worker.logs(/"url":"(http:\/\/127\.0\.0\.1:\d+)","name":"sessions","msg":"listening for Restate"/)
    await restate().register(address)
    const answered = await allFrames(await execute(door.url, 'hi'))
    expect(completion(answered).status).toBe('completed')
    const replayed = await framesUntil(await fetch(`${worker.url}${mine}/events?from=start`), isType('settled'))
    expect(replayed.map(({ data }) => data.type)).toContain('message-end')
    worker.child.kill('SIGKILL')
    await worker.ended
    const waiting = execute(door.url, 'after the kill', 'other')
    const next = await servingCommand(flags, { folder })
    const [, moved = ''] = await next.logs(/"url":"(http:\/\/127\.0\.0\.1:\d+)","name":"sessions","msg":"listening for Restate"/)
    await restate().register(moved)
    // Restate asks the new address: no invocation has begun with the old code.
    expect(completion(await allFrames(await waiting)).status).toBe('completed')
    for (const { child, ended } of [door, next]) {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
  })
})
