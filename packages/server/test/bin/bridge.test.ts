import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { refusal, temporaryFolder } from '../support/bench.ts'
import { agentsFile, servingCommand } from '../support/command.ts'
import { runHere } from '../support/in-process.ts'

function folderWith(config: object): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'bowline.config.json'), JSON.stringify(config))
  return folder
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  onTestFinished(() => client.close())
  return client
}

const delegate = async (client: Client, prompt: string) =>
  (await client.callTool({ name: 'tasks_delegate', arguments: { prompt } })).structuredContent

async function draining(url: string): Promise<void> {
  while ((await fetch(`${url}/readyz`)).status !== 503);
}

it('V53: agents that the file names for the bridge are served at /mcp, and their work is not listed among the sessions', async () => {
  const { url, child, ended, stderr, stdout } = await servingCommand([], { folder: folderWith({ bridge: { agents: ['assistant'] } }) })
  const client = await connect(url)
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('tasks_delegate')
  expect(await delegate(client, 'hi')).toMatchObject({ status: 'completed', agentId: 'assistant', text: 'Hello there.' })
  expect(await (await fetch(`${url}/api/agent/sessions`)).json()).toEqual({ sessions: [] })
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(stderr().trim().split('\n')).toEqual([`bowline-server: listening on ${url}`])
  expect(stdout()).not.toMatch(/"level":"?(error|warn|40|50)|Hello there/)
  expect(stdout()).toContain('"msg":"the bridge stops"')
})

it('V53, V82: during shutdown a call over MCP may finish within the drain', async () => {
  const { url, child, ended, stdout } = await servingCommand(['--drain-ms', '3600000'], {
    folder: folderWith({ bridge: { agents: ['assistant'] } }),
  })
  const client = await connect(url)
  const health = async () => JSON.stringify((await client.callTool({ name: 'bridge_health', arguments: {} })).structuredContent)
  const idle = await health()
  const held = delegate(client, 'hold')
  while ((await health()) === idle);
  child.kill('SIGTERM')
  await draining(url)
  child.kill('SIGUSR2')
  expect(await held).toMatchObject({ status: 'completed', text: 'The whole answer.' })
  await client.close()
  expect(await ended).toBe(0)
  expect(stdout()).not.toMatch(/"level":"?(error|warn|40|50)/)
})

it('V53: without agents for the bridge the route does not exist', async () => {
  const { url } = await servingCommand([], { folder: temporaryFolder() })
  await refusal(
    fetch(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }),
    404,
    'route-not-found',
  )
})

const usual = ['check', '--agents', agentsFile, '--auth', 'none']

it('check lists the agents of the bridge', async () => {
  expect((await runHere(usual, folderWith({ bridge: { agents: ['assistant'] } }))).stdout).toMatch(/^ *bridge +assistant$/m)
  expect((await runHere(usual, temporaryFolder())).stdout).toMatch(/^ *bridge +none$/m)
})

it.each([
  [{ agents: [] }, 'bridge.agents (bowline.config.json): must name at least one agent'],
  [{ agents: ['assistent'] }, 'bridge.agents: there is no agent assistent; there are assistant'],
  [{ agents: ['assistant', 'assistant'] }, 'bridge.agents (bowline.config.json): names assistant twice'],
  [
    { agents: ['assistant'], defaultAgent: 'other' },
    'bridge.defaultAgent (bowline.config.json): is other, which is not one of bridge.agents',
  ],
  [{ agents: ['assistant'], agent: 'other' }, 'bridge.agent (bowline.config.json): there is no such key'],
])('V81: reports an impossible bridge: %j', async (bridge, fault) => {
  const { code, stderr } = await runHere(usual, folderWith({ bridge }))
  expect(code).toBe(2)
  expect(stderr).toContain(`bowline-server: ${fault}`)
})
