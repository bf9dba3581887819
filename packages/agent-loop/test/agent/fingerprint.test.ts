import { createModels } from '@bowline/llm'
import type { JSONValue, LanguageModelV4CallOptions } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import '../../src/node/index.ts'
import { createMemoryJournal, defineAgent, defineTool } from '../../src/index.ts'
import type { Agent, AgentEvent, AgentOptions } from '../../src/index.ts'
import { agentOf, conversation, model } from '../support/conversation.ts'
import { remote } from '../support/tools.ts'

const call = (name: string, id = 'x', input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })
const hashesOf = (events: readonly AgentEvent[]) => events.flatMap((event) => (event.type === 'turn-start' ? [event.fingerprint] : []))
const systemOf = ({ prompt }: LanguageModelV4CallOptions) => prompt.filter(({ role }) => role === 'system').map(({ content }) => content)

const look = (description: string, field = 'city') =>
  defineTool({
    name: 'look',
    description,
    inputSchema: z.object({ [field]: z.string() }),
    effect: 'pure',
    execute: (input) => JSON.stringify(input),
  })

describe('the fingerprint of a turn', () => {
  it('is in each turn-start, also of later segments, and equals that of the agent', async () => {
    const agent = agentOf([call('there'), { text: 'one' }, { text: 'two' }], { instructions: 'You help.', tools: [remote('there')] })
    const talk = conversation()
    await talk.play(agent, 'go')
    await talk.play(agent, { toolResults: [{ toolCallId: 'x', output: 'done' }] })
    await talk.play(agent, 'more')
    const { hash } = await agent.fingerprint()
    expect(hash).toMatch(/^[\w-]{43}$/)
    expect(hashesOf(talk.journal.log)).toEqual([hash, hash, hash])
  })

  it('is missing when the model of the agent cannot be resolved, and a run with another model goes on', async () => {
    const models = createModels({ providers: { test: { languageModel: () => model([{ text: 'one' }]) } }, default: 'test:m' })
    const agent = defineAgent({ model: 'nowhere:gone', models })
    const talk = conversation()
    const { result } = await talk.play(agent, 'go', { runtimeParams: { model: 'test:m' } })
    expect(result).toMatchObject({ status: 'completed', text: 'one' })
    expect(hashesOf(talk.journal.log)).toEqual([undefined])
  })

  it('follows files that are read again, and ignores params of a single run', async () => {
    const folder = (location: string) =>
      Object.assign([{ name: 'cook', description: 'cooks', location }], { diagnostics: [], reload: async () => folder('elsewhere') })
    const agent = agentOf([{ text: 'one' }, { text: 'two' }, { text: 'three' }], {
      instructions: { system: 'x', skills: [folder('here')] } as unknown as NonNullable<AgentOptions['instructions']>,
    })
    const talk = conversation()
    await talk.play(agent, 'go')
    await talk.play(agent, 'on', { runtimeParams: { temperature: 1, systemPrompt: 'other' } })
    await agent.reload()
    await talk.play(agent, 'more')
    const [first, second, third] = hashesOf(talk.journal.log)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
    expect(third).toBe((await agent.fingerprint()).hash)
  })

  it('is computed again after a schema could not be loaded once', async () => {
    let loads = 0
    const schema = () => {
      if (++loads === 1) throw new Error('no network')
      return z.object({ city: z.string() })
    }
    const late = defineTool({ name: 'late', description: 'x', inputSchema: schema as never, execute: () => 'x' })
    const agent = agentOf([{ text: 'one' }], { tools: [late] })
    await expect(agent.fingerprint()).rejects.toThrow('no network')
    const talk = conversation()
    await talk.play(agent, 'go')
    expect(hashesOf(talk.journal.log)).toEqual([(await agent.fingerprint()).hash])
  })

  it('is left out when it cannot be computed, and the turn goes on', async () => {
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'mine',
        validate: (value: unknown) => ({ value }),
        jsonSchema: {
          input: () => {
            throw new Error('no schema')
          },
        },
      },
    }
    const broken = defineTool({ name: 'broken', description: 'x', inputSchema: schema as never, execute: () => 'x' })
    const talk = conversation()
    const { result } = await talk.play(agentOf([], { tools: [broken] }), 'go')
    expect(result).toMatchObject({ status: 'error', reason: 'model-error' })
    expect(talk.journal.log.find(({ type }) => type === 'turn-start')).not.toHaveProperty('fingerprint')
  })
})

describe('the fingerprint of an agent', () => {
  it('changes with another tool that the provider runs', async () => {
    const search = (id: string, args: Record<string, unknown>) => ({
      type: 'provider' as const,
      isProviderExecuted: true,
      id,
      args,
      inputSchema: {} as never,
    })
    const hashOf = async (tools: Record<string, ReturnType<typeof search>>) =>
      (await agentOf([], { tools: tools as never }).fingerprint()).hash
    const hashes = [
      await hashOf({}),
      await hashOf({ search: search('p.search', {}) }),
      await hashOf({ search: search('p.search', { max: 1 }) }),
    ]
    expect(new Set(hashes).size).toBe(3)
    expect(await hashOf({ search: search('p.search', { max: 1 }) })).toBe(hashes[2])
  })
})

describe('a pinned run', () => {
  it('A183: its requests carry the pinned instructions, schemas and model, and the current code runs', async () => {
    const agentWith = (agent: Agent & { readonly model: ReturnType<typeof agentOf>['model'] }) => agent
    const before = agentWith(agentOf([], { instructions: 'as it was', tools: [look('old')] }))
    const pinned = JSON.parse(JSON.stringify(await before.fingerprint())) as Awaited<ReturnType<Agent['fingerprint']>>
    const today = agentWith(
      agentOf([call('look', 'x', { city: 'Rome' }), { text: 'ok' }], { instructions: 'as it is', tools: [look('new')] }),
    )
    const talk = conversation()
    const { result } = await talk.play(today, 'go', {
      pinned: { ...pinned, model: { provider: today.model.provider, modelId: today.model.modelId } },
    })
    expect(result.status).toBe('completed')
    for (const request of today.model.calls) {
      expect(systemOf(request)).toEqual(['as it was'])
      expect(request.tools).toMatchObject([{ name: 'look', description: 'old', inputSchema: pinned.tools[0]?.inputSchema }])
    }
    expect(JSON.stringify(result.messages)).toContain('Rome')
    expect(hashesOf(talk.journal.log)).toEqual([pinned.hash])
  })

  it('A183: extensions may change the pinned instructions', async () => {
    const pinned = { ...(await agentOf([], { instructions: 'as it was' }).fingerprint()) }
    const shape = {
      name: 'shape',
      hooks: { beforeAgentStart: ({ instructions }: { readonly instructions: string }) => ({ instructions: `${instructions}, and more` }) },
    }
    const today = agentOf([{ text: 'ok' }], { instructions: 'as it is', extensions: [shape] })
    await today.run('go', { pinned: { ...pinned, model: { provider: today.model.provider, modelId: today.model.modelId } } }).result()
    expect(today.model.calls.map(systemOf)).toEqual([['as it was, and more']])
  })

  it('A183: a run is refused before anything is stored if the agent lacks a pinned tool', async () => {
    const pinned = await agentOf([], { tools: [look('old')] }).fingerprint()
    const journal = createMemoryJournal()
    const today = agentOf([], { tools: [] })
    expect(() => today.run('go', { journal, pinned })).toThrow('the pinned tool "look" no longer exists; add it to the agent again')
    expect((await journal.load()).seq).toBe(0)
  })
})
