import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it, onTestFinished } from 'vitest'
import type { BridgeErrorBody } from '../../src/errors.ts'
import { fixture, nodeArgs } from './command-support.ts'

/** Connects to the command, started as an MCP host starts it. Closed after the test. */
async function connected(): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [...nodeArgs(), '--config', fixture('clients')], stderr: 'ignore' }),
  )
  onTestFinished(() => client.close())
  return client
}

type Content = Readonly<Record<string, unknown>>

/** Everything that a model sees: tools, instructions and texts of responses. */
async function modelOf(client: Client) {
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  async function call(name: string, input: object) {
    const { isError = false, content } = await client.callTool({ name, arguments: { ...input } })
    const [part] = content
    return { isError, text: part?.type === 'text' ? part.text : '' }
  }
  return {
    names,
    takes: async (name: string, input: object): Promise<Content> => {
      const { isError, text } = await call(name, input)
      expect(isError, text).toBe(false)
      return JSON.parse(text) as Content
    },
    refuses: async (name: string, input: object): Promise<BridgeErrorBody> => {
      const { isError, text } = await call(name, input)
      expect(isError, text).toBe(true)
      const { error } = JSON.parse(text) as { readonly error: BridgeErrorBody }
      // Advice must name existing tools only.
      for (const [tool] of error.next.matchAll(/\b(?:bridge|agents|sessions|tasks)_\w+/g)) expect(names).toContain(tool)
      return error
    },
  }
}

/** Returns the items that the message lists after these words, without the remarks in parentheses. */
function listed({ message }: BridgeErrorBody, after: string): readonly string[] {
  const [, list = ''] = message.split(after)
  return list
    .replaceAll(/ \([^)]*\)/g, '')
    .split(', ')
    .map((name) => name.trim())
}

it('B119, B121: a model that guesses names reaches its answer with instructions, messages and advice alone', async () => {
  const client = await connected()
  const { names, takes, refuses } = await modelOf(client)
  expect(names).toContain('tasks_delegate')
  const instructions = client.getInstructions() ?? ''
  const agents = [...instructions.matchAll(/^- ([\w-]+)/gm)].map(([, id]) => id)
  expect(agents).toEqual(['echo', 'waiting', 'witness', 'asking'])
  for (const [tool] of instructions.matchAll(/\b(?:agents|sessions|tasks)_\w+/g)) expect(names).toContain(tool)

  const noAgent = await refuses('tasks_delegate', { prompt: 'hi', agentId: 'Echo.Agent' })
  expect(noAgent.next).toContain('Use one of the agents that the message lists')
  expect(listed(noAgent, 'there are ')).toEqual(agents)
  const [echo] = listed(noAgent, 'there are ')

  const noField = await refuses('tasks_delegate', { prompt: 'hi', agent: echo })
  expect(noField.next).toContain('Correct what the message names')
  const done = await takes('tasks_delegate', { prompt: 'hi', [/did you mean (\w+)/.exec(noField.message)?.[1] ?? 'agent']: echo })
  expect(done).toMatchObject({ status: 'completed', agentId: 'echo', text: 'echo: hi' })

  const noRequest = await refuses('tasks_status', { requestId: 'r' })
  const [requestId] = listed(noRequest, 'your newest requests are ')
  expect(await takes('tasks_status', { requestId })).toEqual(done)
})
