import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { serve as serveFetch } from '@hono/node-server'
import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import type { RunningServer } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import { createStudioFetch } from '@bowline/studio/studio-fetch'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { isChromiumMissing, titleInBrowser } from '../../../../scripts/chromium.ts'
import { demoAgentName } from '../../src/server/agents.ts'
import { createDemo } from '../../src/server/create-demo.ts'
import type { Demo } from '../../src/server/create-demo.ts'
import { freePort } from '../../src/supervisor/free-port.ts'
import { makeDataFolder, removeDataFolder } from '../demo-process.ts'
import { stageAt } from './browser.ts'
import { eventually } from './eventually.ts'

const read = ['agents:read', 'sessions:read'] as const
const tokens: Readonly<Record<string, readonly (typeof read)[number][] | readonly string[]>> = {
  reader: read,
  writer: [...read, 'sessions:write', 'approvals', 'requests:read'],
  sender: [...read, 'sessions:write'],
  decider: [...read, 'approvals'],
}

describe.skipIf(isChromiumMissing)(titleInBrowser('the studio with a server elsewhere'), () => {
  let dataFolder: string
  let demo: Demo
  let api: RunningServer
  const closing: (() => void)[] = []

  /** Returns the address of a studio with this token. */
  async function studio(token: string | undefined, server = api.url): Promise<string> {
    const port = await freePort(0)
    const fetch = createStudioFetch({ server, token, port, pageFolder: inject('pageFolder') })
    const host = serveFetch({ fetch, hostname: '127.0.0.1', port })
    closing.push(() => host.close())
    return `http://127.0.0.1:${port}`
  }

  beforeAll(async () => {
    dataFolder = await makeDataFolder()
    demo = await createDemo({ DEMO_DATA: dataFolder, DEMO_STORE: 'memory:', DEMO_SPEED: '0' })
    await demo.runtime.start()
    const auth = async (request: Request) => {
      const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
      const scopes = tokens[token]
      return scopes ? { id: token, tenant: 'elsewhere', scopes: scopes as typeof read } : null
    }
    api = await serve(createServer({ runtime: demo.runtime, auth, agents: { [demoAgentName]: {} } }), { port: 0 })
  })
  afterAll(async () => {
    for (const close of closing) close()
    await api.close()
    await demo.runtime.stop()
    await removeDataFolder(dataFolder)
  })

  it('D57: shows and does what its token allows, with the public API alone; a read-only token gets no actions', async () => {
    const writer = await studio('writer')
    let sessionId = ''
    await stageAt(writer).visit(async (tab) => {
      expect(await tab.page.getByTestId('model').textContent()).toBe(api.url)
      expect(await tab.page.getByRole('button', { name: /Kill/ }).count()).toBe(0)
      await tab.say('what is the weather in Oslo and Lima')
      await tab.reaches('completed')
      await tab.equalsServer()
      await tab.page.getByRole('tab', { name: 'Request' }).click()
      await tab.page.getByText('This server does not record what models are sent').waitFor()
      tab.complaints.splice(0)
      sessionId = tab.sessionId
      expect(await tab.page.getByRole('button', { name: /^Delete/ }).count()).toBe(0)
    })
    const reader = await studio('reader')
    await stageAt(`${reader}/#/s/${sessionId}`).visit(async (tab) => {
      await tab.main.getByText('is warmer than Oslo').waitFor()
      await tab.page.getByText('Your token may read only').waitFor()
      expect(await tab.message.count()).toBe(0)
      await tab.page.getByRole('slider', { name: 'Event' }).fill('3')
      await tab.page.getByTestId('past').waitFor()
      expect(await tab.page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0)
      expect(await tab.faults()).toEqual([])
    })
  })

  it('D57: says before a click what a token may not do: without the right to decide it shows the question, without the right to send it still decides', async () => {
    let sessionId = ''
    const sender = await studio('sender')
    await stageAt(sender).visit(async (tab) => {
      await tab.say('delete the report')
      await tab.reaches('waiting-for-user')
      sessionId = tab.sessionId
      const card = tab.page.getByTestId('approval')
      for (const name of [/^Approve/, /^Deny/, /^Edit/]) expect(await card.getByRole('button', { name }).isDisabled()).toBe(true)
      await tab.main.getByText('it needs the scope approvals').waitFor()
      await tab.page.getByRole('tab', { name: 'State' }).focus()
      await tab.page.keyboard.press('a')
      expect(await tab.message.count()).toBe(1)
      expect(await tab.faults()).toEqual([])
      await tab.reaches('waiting-for-user')
    })
    const reader = await studio('reader')
    await stageAt(`${reader}/#/s/${sessionId}`).visit(async (tab) => {
      await tab.main.getByText('it needs the scope approvals').waitFor()
      await tab.page.getByText('Your token may read only').waitFor()
    })
    const decider = await studio('decider')
    await stageAt(`${decider}/#/s/${sessionId}`).visit(async (tab) => {
      const approve = tab.page.getByTestId('approval').getByRole('button', { name: /^Approve/ })
      await tab.page.getByText('that needs the scope sessions:write').waitFor()
      expect(await tab.message.count()).toBe(0)
      expect(await tab.page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0)
      await approve.click()
      await tab.reaches('completed')
      expect(await tab.faults()).toEqual([])
    })
  })

  it('D57: offers the agents of the server for a new session, and the session keeps its own', async () => {
    const model = () => scriptedModel(({ prompt }) => ({ text: `I am ${prompt[0]?.role === 'system' ? prompt[0].content : 'nobody'}.` }))
    const agents = ['first', 'second'].map((name) =>
      defineAgent({ name, description: `It is the ${name}.`, instructions: `the ${name} one`, model: model() }),
    )
    const runtime = createRuntime({ agents })
    const several = await serve(createServer({ runtime, auth: 'none', agents: { first: {}, second: {} } }), { port: 0 })
    closing.push(() => void several.close())
    await stageAt(await studio(undefined, several.url)).visit(async (tab) => {
      const agent = tab.page.getByRole('combobox', { name: 'Agent' })
      await tab.page.getByText('It is the first.').waitFor()
      expect(await agent.inputValue()).toBe('first')
      await agent.selectOption('second')
      await tab.page.getByText('It is the second.').waitFor()
      expect(await tab.faults()).toEqual([])
      await tab.say('who are you')
      await tab.main.getByText('I am the second one.').waitFor()
      await tab.reaches('completed')
      expect(await agent.count()).toBe(0)
      await tab.page.reload()
      await tab.say('and now')
      await eventually(async () => expect(await tab.main.getByText('I am the second one.').count()).toBe(2))
      // The text is there before the answer is stored.
      await tab.reaches('completed')
      await tab.equalsServer()
    })
  })

  it('D57, D5: lets no other page use its token, and reveals it to none', async () => {
    const url = await studio('writer')
    expect((await fetch(`${url}/api/me`)).status).toBe(200)
    expect((await fetch(`${url}/api/me`, { headers: { origin: 'http://evil.example' } })).status).toBe(403)
    expect((await fetch(`${url}/api/me`, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    expect(await (await fetch(`${url}/studio/info`)).json()).toEqual({ server: api.url, canKill: false })
    expect((await fetch(`${url}/studio/kill`, { method: 'POST' })).status).toBe(404)
  })
})
