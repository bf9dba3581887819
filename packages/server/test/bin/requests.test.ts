import { defineAgent, defineExtension } from '@bowline/agent-loop'
import { createClient } from '@bowline/client'
import { createAdmin } from '@bowline/client/admin'
import { systemClock } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { recordedAgents } from '../../src/bin/record-requests.ts'
import { resolveConfig } from '../../src/config/resolve-config.ts'
import { temporaryFolder } from '../support/bench.ts'
import { servingCommand } from '../support/command.ts'

async function ask(url: string, text: string): Promise<void> {
  await createClient({ baseUrl: url }).session('mine').send(text).result()
}

it("D55: with requests.record the command keeps the requests to its agents' models, over a restart, and removes them with the session", async () => {
  const folder = temporaryFolder()
  const first = await servingCommand(['--requests.record'], { folder })
  await ask(first.url, 'hi')
  first.child.kill('SIGTERM')
  expect(await first.ended).toBe(0)
  const { url, child, ended } = await servingCommand([], { folder, environment: { BOWLINE_REQUESTS_RECORD: 'true' } })
  await ask(url, 'and again')
  const { list, get } = createAdmin({ baseUrl: url }).session('mine').requests
  const { requests } = await list()
  expect(requests).toMatchObject([
    { turn: 2, messageCount: 3 },
    { turn: 1, messageCount: 1 },
  ])
  expect(JSON.stringify((await get(requests[0]?.id ?? '')).prompt)).toMatch(/hi.*Hello there.*and again/)
  await createClient({ baseUrl: url }).session('mine').delete()
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  const store = sqliteStore({ file: join(folder, '.bowline/data.db') })
  await store.open({ namespace: 'default', owner: 'test', clock: systemClock })
  expect((await store.state.list('model-requests', {})).items).toEqual([])
  await store.close()
})

it('D55: without it the route does not exist', async () => {
  const { url } = await servingCommand([], { folder: temporaryFolder() })
  await ask(url, 'hi')
  await expect(createAdmin({ baseUrl: url }).session('mine').requests.list()).rejects.toMatchObject({ code: 'route-not-found' })
})

it('D55: refuses an agent that has an extension of that name, and names the setting', async () => {
  const config = await resolveConfig({
    flags: { given: [], faults: [], positionals: [], extra: {} },
    environment: { BOWLINE_REQUESTS_RECORD: 'true' },
    folder: temporaryFolder(),
    required: [],
  })
  const agent = defineAgent({ name: 'own', model: scriptedModel([]), extensions: [defineExtension({ name: 'requests', hooks: {} })] })
  expect(() => recordedAgents([agent], memoryStore(), config)).toThrow(
    expect.objectContaining({
      faults: [{ path: 'requests.record', message: expect.stringContaining('an agent cannot be recorded') as string }],
    }),
  )
})
