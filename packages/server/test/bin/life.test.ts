import type { SessionView } from '@bowline/client'
import { createToken } from '@bowline/server'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { refusal, say, temporaryFolder } from '../support/bench.ts'
import { bundledAgents, commandResult, servingCommand } from '../support/command.ts'
import { allFrames, collect, completion, framesOf, framesUntil, type Frame } from '../support/frames.ts'

const mine = '/api/agent/session/mine'
/** Longer than any test: no drain here ends by its timeout. */
const longDrain = ['--drain-ms', '3600000']

function execute(url: string, content: string, sessionId = 'mine'): Promise<Response> {
  const body = JSON.stringify({ sessionId, input: say(content), context: {} })
  return fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

const isType = (type: string) => (frame: Frame) => frame.data.type === type

/** Waits until the server is draining. */
async function draining(url: string): Promise<void> {
  while ((await fetch(`${url}/readyz`)).status !== 503);
}

/** Returns the state of the session from a server that resumes after the last one. */
async function afterwards(folder: string): Promise<SessionView> {
  const { url } = await servingCommand([], { folder, environment: { PACE: 'fast' } })
  await framesUntil(await fetch(`${url}${mine}/events?from=start`), isType('settled'))
  return (await (await fetch(url + mine)).json()) as SessionView
}

it('V81, V86: it is ready when it prints its address, and a second one on its file or its port gets the reason why it cannot start', async () => {
  const folder = temporaryFolder()
  const { url } = await servingCommand([], { folder })
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  expect(completion(await allFrames(await execute(url, 'hi'))).status).toBe('completed')
  const usual = ['--agents', bundledAgents(), '--auth', 'none', '--port', new URL(url).port]
  const [sameFile, samePort] = await Promise.all([
    commandResult(usual, { folder }),
    commandResult([...usual, '--store', 'memory:'], { folder }),
  ])
  expect(sameFile).toMatchObject({ code: 1, stdout: '' })
  expect(sameFile.stderr).toMatch(
    /^bowline-server: The database \S+data\.db is in use by process \d+; only one process can open it\. Close it there first\n$/,
  )
  expect(sameFile.stderr).toContain(join('.bowline', 'data.db'))
  expect(samePort).toMatchObject({ code: 1, stdout: '' })
  expect(samePort.stderr).toMatch(/^bowline-server: port \d+ of 127\.0\.0\.1 is in use: .*--port\n$/)
})

it('V82: SIGTERM refuses new work, lets reads and open streams go on, and exits with 0', async () => {
  const { url, child, ended } = await servingCommand(longDrain, { folder: temporaryFolder() })
  const frames = framesOf(await execute(url, 'hold'))
  const seen: Frame[] = []
  for await (const frame of frames) {
    seen.push(frame)
    if (frame.data.type !== 'message-start') continue
    child.kill('SIGTERM')
    await draining(url)
    const refused = await execute(url, 'hi', 'other')
    expect(refused.headers.get('retry-after')).toBe('1')
    await refusal(refused, 503, 'draining')
    expect((await fetch(url + mine)).status).toBe(200)
    const again = await fetch(`${url}${mine}/events?from=run`)
    await framesUntil(again, isType('message-start'))
    child.kill('SIGUSR2')
  }
  expect(completion(seen).status).toBe('completed')
  expect(await ended).toBe(0)
})

it('V82: work that is still open at the end of the drain ends with drained', async () => {
  const { url, child, ended } = await servingCommand(['--drain-ms', '1'], { folder: temporaryFolder() })
  const frames = await allFrames(await execute(url, 'hang'), ({ data }) => void (data.type === 'text-delta' && child.kill('SIGTERM')))
  expect(frames.at(-1)?.data).toEqual({ type: 'stream-end', reason: 'drained', resume: true })
  expect(await ended).toBe(0)
})

it('V83: a second signal ends it at once with 130, and the run survives', async () => {
  const folder = temporaryFolder()
  const { url, child, ended } = await servingCommand(longDrain, { folder })
  const frames = framesOf(await execute(url, 'hang'))
  for (let isText = false; !isText;) isText = (await frames.next()).value?.data.type === 'text-delta'
  child.kill('SIGINT')
  await draining(url)
  child.kill('SIGINT')
  expect(await ended).toBe(130)
  await expect(collect(frames)).rejects.toThrow()
  expect((await afterwards(folder)).messages.at(-1)).toMatchObject({ content: [{ type: 'text', text: 'Hello there.' }] })
})

it('V85: an uncaught exception is logged without its text, ends the process with 1, and the run survives', async () => {
  const folder = temporaryFolder()
  const { url, ended, stdout, stderr } = await servingCommand([], { folder })
  const reading = execute(url, 'crash').then((answer) => allFrames(answer))
  await expect(reading).rejects.toThrow()
  expect(await ended).toBe(1)
  const log = stdout() + stderr()
  expect(log).toContain('uncaught error: the process ends')
  expect(log).toContain('agents.js:')
  expect(log).not.toContain('secret words')
  const { messages } = await afterwards(folder)
  expect(messages.at(-1)).toMatchObject({ content: [{ type: 'text', text: 'Hello there.' }] })
})

it('V65: on SIGHUP it reads the tokens of the file again; a wrong file changes nothing; streams of a removed token end', async () => {
  const folder = temporaryFolder()
  const [kept, removed] = await Promise.all(
    ['kept', 'removed'].map((id) => createToken({ id, tenant: 'acme', scopes: ['sessions:read', 'sessions:write'] })),
  )
  const file = join(folder, 'bowline.config.json')
  const write = (...tokens: unknown[]) => writeFileSync(file, JSON.stringify({ auth: { tokens } }))
  write(kept?.config, removed?.config)
  const { url, child, logs } = await servingCommand(['--store', 'memory:'], { folder, auth: 'file' })
  const headers = { authorization: `Bearer ${removed?.token}` }
  const as = (token: string | undefined) => fetch(`${url}${mine}`, { headers: { authorization: `Bearer ${token}` } })
  const body = JSON.stringify({ sessionId: 'mine', input: say('hi'), context: {} })
  await allFrames(
    await fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }),
  )
  const open = await fetch(`${url}${mine}/events`, { headers })

  writeFileSync(file, '{ "auth": { "tokens": [{ "id": "kept" }] } }')
  child.kill('SIGHUP')
  await logs(/auth stays as it was/)
  expect((await as(removed?.token)).status).toBe(200)

  write(kept?.config)
  child.kill('SIGHUP')
  expect((await allFrames(open)).at(-1)?.data).toEqual({ type: 'stream-end', reason: 'token-expired', resume: true })
  await logs(/auth was read again/)
  await refusal(as(removed?.token), 401, 'unauthenticated')
  expect((await as(kept?.token)).status).toBe(200)
})
