import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it } from 'vitest'
import { nodeFlags } from '../../../scripts/programs.ts'
import { runtimeAgent } from '../src/index.ts'
import { fixtureFile } from './programs.ts'
import { eventsOf, later, promptOf, sessionOf, startWriter, temporaryFile } from './runtime-support.ts'

/** Returns the session on which a process was working when it was killed. */
async function killedAtWork(file: string): Promise<string> {
  const child = spawn(process.execPath, [...nodeFlags, fixtureFile('fixtures/writing-process'), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  later(async () => void (child.kill('SIGKILL') && (await exit)))
  const lines = createInterface(child.stdout)
  const [sessionId] = (await once(lines, 'line')) as [string]
  child.kill('SIGKILL')
  await exit
  return sessionId
}

describe('runtimeAgent after its process was killed', () => {
  it('B97: a running request is joined, not repeated', async () => {
    const file = await temporaryFile()
    const sessionId = await killedAtWork(file)
    const runtime = await startWriter([{ text: 'A line.' }], { store: sqliteStore({ file }) })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    const events = await eventsOf(agent, promptOf('r1', { session: sessionOf(sessionId) }))
    expect(events.at(-1)).toMatchObject({ type: expect.stringMatching(/save-point|settled/) as unknown })
    expect(events.filter(({ type }) => type === 'user-message')).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'turn-end')).toMatchObject([{ status: 'completed' }])
    expect((await runtime.session(`bridge:local:${sessionId}`).runs()).items).toMatchObject([{ inputId: 'r1', status: 'completed' }])
  })

  it('B46: a running request is cancelled by a process that never read it', async () => {
    const file = await temporaryFile()
    const sessionId = await killedAtWork(file)
    const session = sessionOf(sessionId)
    const runtime = await startWriter([{ text: 'half and half', chunk: 4, hang: 'middle' }], { store: sqliteStore({ file }) })
    const agent = runtimeAgent(runtime, { agent: 'writer' })
    await agent.onCancel?.({ session, requestId: 'r1', reason: 'caller' })
    expect((await runtime.session(`bridge:local:${sessionId}`).runs()).items).toMatchObject([{ inputId: 'r1', status: 'stopped' }])
  })
})
