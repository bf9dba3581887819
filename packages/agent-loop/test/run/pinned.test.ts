import { jsonSchema } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryJournal, defineTool } from '../../src/index.ts'
import type { ToolDeclaration } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { resultsOf } from '../support/prompts.ts'
import { echo, remote } from '../support/tools.ts'

const browser: ToolDeclaration = {
  name: 'browser',
  description: 'looks',
  inputSchema: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
}
const call = (name: string, input = {}) => ({ toolCalls: [{ id: 'x', name, input }] })
const namesOf = (agent: ReturnType<typeof agentOf>, place = 0) => agent.model.calls[place]?.tools?.map(({ name }) => name)

describe('remote tools of a run', () => {
  it('A181: refuses a name that hides a tool of the provider', () => {
    const search = { type: 'provider', isProviderExecuted: true, id: 'p.browser', args: {}, inputSchema: jsonSchema({}) } as never
    expect(() => agentOf([], { tools: { browser: search } }).run('go', { remoteTools: [browser] })).toThrow('has the name of another tool')
  })
})

describe('a pinned agent', () => {
  const look = (schema: z.ZodObject, description = 'looks') =>
    defineTool({ name: 'look', description, inputSchema: schema, execute: () => 'seen' })
  const old = z.object({ at: z.string() })
  const pinOf = async (agent: ReturnType<typeof agentOf>, today: ReturnType<typeof agentOf>) => ({
    ...(await agent.fingerprint()),
    model: { provider: today.model.provider, modelId: today.model.modelId },
  })

  it('A183: new tools of the agent are left out, remote tools of the run are offered', async () => {
    const today = agentOf([{ text: 'done' }], { tools: [look(old), echo('more').tool, remote('far')] })
    const pinned = await pinOf(agentOf([], { tools: [look(old)] }), today)
    await today.run('go', { pinned, remoteTools: [browser] }).result()
    expect(namesOf(today)).toEqual(['browser', 'look'])
  })

  it('A183: a tool defined by a provider is offered as it is today', async () => {
    const own = (id: string, isProviderExecuted: boolean) => ({
      type: 'provider',
      isProviderExecuted,
      id,
      args: { as: id },
      inputSchema: jsonSchema({}),
      ...(!isProviderExecuted && { execute: () => 1 }),
    })
    const tools = { search: own('p.search', true), shell: own('p.shell', false) } as never
    const today = agentOf([{ text: 'done' }], { tools })
    const pinned = await pinOf(agentOf([], { tools }), today)
    await today.run('go', { pinned }).result()
    expect(today.model.calls[0]?.tools).toMatchObject([
      { type: 'provider', id: 'p.search' },
      { type: 'provider', id: 'p.shell' },
    ])
  })

  it('A183: the same holds in a further segment', async () => {
    const talk = conversation()
    const today = agentOf([call('far'), { text: 'done' }], { instructions: 'new', tools: [echo('more').tool, remote('far')] })
    const pinned = await pinOf(agentOf([], { instructions: 'old', tools: [remote('far')] }), today)
    await talk.play(today, 'go', { pinned })
    await talk.play(today, { toolResults: [{ toolCallId: 'x', output: 1 }] }, { pinned })
    for (const place of [0, 1]) {
      expect(namesOf(today, place)).toEqual(['far'])
      expect(today.model.calls[place]?.prompt[0]).toMatchObject({ role: 'system', content: 'old' })
    }
  })

  it('A183: the schema of the current code checks the input of its tool', async () => {
    const talk = conversation()
    const today = agentOf(
      [call('look', { at: 'a' }), call('look', { to: 'a' }), { text: 'done' }].map((step, place) =>
        place === 1 ? { toolCalls: [{ id: 'y', name: 'look', input: { to: 'a' } }] } : step,
      ),
      {
        tools: [look(z.object({ to: z.string() }))],
      },
    )
    const pinned = await pinOf(agentOf([], { tools: [look(old)] }), today)
    expect((await talk.play(today, 'go', { pinned })).result.status).toBe('completed')
    expect(today.model.calls[0]?.tools).toMatchObject([{ inputSchema: { properties: { at: {} } } }])
    expect(resultsOf(today.model.calls[2]).map(({ output }) => (output as { type: string }).type)).toEqual(['error-text', 'text'])
  })

  it('A183: refuses a pinned model that is no longer known', async () => {
    const journal = createMemoryJournal()
    const today = agentOf([])
    const pinned = { ...(await today.fingerprint()), model: { provider: 'gone', modelId: 'away' } }
    expect(() => today.run('go', { journal, pinned })).toThrow('pinned')
    expect((await journal.load()).seq).toBe(0)
  })
})
