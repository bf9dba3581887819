import { createModels } from '@bowline/llm'
import type { JSONValue, LanguageModelV4CallOptions } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { AgentError, defineAgent, defineTool } from '../../src/index.ts'
import type { Agent, AgentOptions, RunOptions, SpawnChildOptions, ToolContext } from '../../src/index.ts'
import { extension } from '../plugins/extensions/support.ts'
import { guardrail } from '../plugins/guardrails/support.ts'
import { agentOf, conversation, model } from '../support/conversation.ts'
import { echo, remote } from '../support/tools.ts'

const call = (name: string, id = 'x', input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })

/** Returns the parts of a request that a provider caches. */
function bytesOf(request: LanguageModelV4CallOptions | undefined): string {
  const { prompt = [], tools } = request ?? {}
  return JSON.stringify([prompt.filter(({ role }) => role === 'system'), tools])
}

/** Plays a run in which a tool asks a child something. Returns the cached parts of both requests. */
async function askInside(options: Partial<AgentOptions>, runOptions: RunOptions = {}, spawn: SpawnChildOptions = {}) {
  const talk = conversation()
  const ask = defineTool({
    name: 'ask',
    description: 'asks a child',
    inputSchema: { type: 'object' },
    execute: async (_input, context: ToolContext) => (await context.spawnChild(spawn).run('side work').result()).text,
  })
  const tools = [ask, ...((options.tools ?? []) as readonly (typeof ask)[])]
  const agent = agentOf([call('ask'), { text: 'from the child' }, { text: 'ok' }], { ...options, tools })
  const { result } = await talk.play(agent, 'go', runOptions)
  const [parent, child, again] = agent.model.calls
  return { talk, result, agent, child, parentBytes: bytesOf(parent), childBytes: bytesOf(child), againBytes: bytesOf(again) }
}

describe('a spawnChild agent', () => {
  it("A166: prompt and tools of its requests equal the parent's byte for byte", async () => {
    const options = {
      instructions: { system: 'You help.', platform: { chat: 'Be short.' }, footer: { sessionKey: true } },
      tools: [echo('read').tool, remote('there')],
      extensions: [extension('more', {}, { tools: [echo('extra').tool], promptSections: { append: 'And more.' } })],
    }
    const agent = agentOf([{ text: 'parent' }, { text: 'child' }, { text: 'other' }], options)
    await agent.run('go', { channel: 'chat', sessionKey: 'key' }).result()
    await agent.spawnChild({ channel: 'chat', sessionKey: 'key' }).run('side').result()
    await agent.spawnChild().run('side').result()
    const [parent, child, other] = agent.model.calls.map(bytesOf)
    expect(parent).toContain('And more.')
    expect(parent).toContain('extra')
    expect(child).toBe(parent)
    expect(other).not.toBe(parent)
  })

  it('A166: a tool outside its list gets an error outcome and does not run', async () => {
    const [a, b] = [echo('a'), echo('b')]
    const agent = agentOf(
      [
        {
          toolCalls: [
            { id: '1', name: 'a', input: {} },
            { id: '2', name: 'b', input: {} },
          ],
        },
        { text: 'ok' },
      ],
      { tools: [a.tool, b.tool] },
    )
    const result = await agent
      .spawnChild({ tools: ['b'] })
      .run('go')
      .result()
    expect(result.messages.filter(({ role }) => role === 'tool-result')).toMatchObject([
      { status: 'error', output: { value: expect.stringContaining('"a" may not be used') } },
      { status: 'result' },
    ])
    expect([a.calls.length, b.calls.length]).toEqual([0, 1])
  })

  it('A166: treats subagents and remote tools of the parent like any other tool', async () => {
    const helper = agentOf([], { name: 'helper', description: 'helps' })
    const agent = agentOf(
      [
        {
          toolCalls: [
            { id: '1', name: 'delegate_to_helper', input: { prompt: 'x' } },
            { id: '2', name: 'there', input: {} },
          ],
        },
        { text: 'ok' },
      ],
      {
        subagents: [helper],
        tools: [remote('there')],
      },
    )
    const result = await agent.spawnChild().run('go').result()
    expect(result).toMatchObject({ status: 'completed', pendingToolCalls: [] })
    expect(result.messages.filter(({ role }) => role === 'tool-result')).toMatchObject([{ status: 'error' }, { status: 'error' }])
  })

  it('A166: cannot let a subagent use tools outside its list', () => {
    const agent = agentOf([], { tools: [echo('a').tool, echo('b').tool] })
    const child = agent.spawnChild({ tools: ['a'] })
    expect(() => agent.spawnChild({ tools: ['c'] })).toThrow(AgentError)
    expect(() => child.spawnChild({ tools: ['b'] })).toThrow('does not have the tool "b"')
    expect(() => child.spawnChild({ tools: ['a'] })).not.toThrow()
  })

  it('runs no extension and makes no compaction', async () => {
    const seen: string[] = []
    const watch = extension('watch', { onInput: () => void seen.push('input'), onEvent: ({ type }) => void seen.push(type) })
    const child = agentOf([{ text: 'ok' }], { extensions: [watch] }).spawnChild()
    const talk = conversation()
    await talk.play(child, 'go')
    expect(seen).toEqual([])
    expect(await child.compact({ journal: talk.journal })).toMatchObject({ outcome: 'skipped', reason: 'compaction is off' })
  })

  it("A152: the parent's guardrails check its calls, also guardrails from a reload or an extension", async () => {
    const guards = ['old', 'new'].map((name) => guardrail(name, { beforeCall: () => ({ action: 'block', reason: `${name} says no` }) }))
    const [before = [], after = []] = guards.map((guard) => [guard])
    const folder = Object.assign([...before], {
      diagnostics: [],
      reload: async () => Object.assign([...after], { diagnostics: [], reload: async () => folder }),
    })
    const agent = agentOf([call('a'), { text: 'ok' }], {
      tools: [echo('a').tool],
      guardrails: folder as unknown as NonNullable<AgentOptions['guardrails']>,
    })
    const child = agent.spawnChild({ tools: ['a'] })
    await agent.reload()
    const result = await child.run('go').result()
    expect(JSON.stringify(result.messages)).toContain('new says no')

    const guarding = extension(
      'guarding',
      {},
      { guardrails: [guardrail('mine', { beforeCall: () => ({ action: 'block', reason: 'mine says no' }) })] },
    )
    const other = agentOf([call('a'), { text: 'ok' }], { tools: [echo('a').tool], extensions: [guarding] })
    expect(
      JSON.stringify(
        (
          await other
            .spawnChild({ tools: ['a'] })
            .run('go')
            .result()
        ).messages,
      ),
    ).toContain('mine says no')
  })
})

describe('a spawnChild agent inside a run', () => {
  it('A167: writes nothing to the journal of the run', async () => {
    const { talk, result } = await askInside({})
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
    expect(talk.types().filter((type) => type === 'turn-start')).toHaveLength(1)
    expect(JSON.stringify(talk.journal.log)).not.toContain('side work')
  })

  it('A166: uses the clock of the run, also if the option is given as undefined', async () => {
    const talk = conversation()
    const seen: number[] = []
    const ask = defineTool({
      name: 'ask',
      description: 'asks a child',
      inputSchema: {},
      async execute(_input, context: ToolContext) {
        const options = { clock: undefined } as unknown as RunOptions
        for await (const { at } of context.spawnChild().run('side work', options)) seen.push(at)
        return 'asked'
      },
    })
    await talk.play(agentOf([call('ask'), { text: 'from the child' }, { text: 'ok' }], { tools: [ask] }), 'go')
    expect(new Set(seen)).toEqual(new Set([1_000]))
  })

  it('A166: uses the prompt of the run: its channel, its session, and the result of beforeAgentStart', async () => {
    const shape = extension('shape', { beforeAgentStart: ({ instructions }) => ({ instructions: `${instructions} Be brief.` }) })
    const instructions = { system: 'You help.', platform: { chat: 'Chat.' }, footer: { sessionKey: true } }
    const made = await askInside({ instructions, extensions: [shape] }, { channel: 'chat', sessionKey: 'key' })
    expect(made.childBytes).toContain('Be brief.')
    expect(made.childBytes).toBe(made.parentBytes)
    expect(made.againBytes).toBe(made.parentBytes)
  })

  it('A166: on another channel it uses the prompt of that channel', async () => {
    const instructions = { system: 'You help.', platform: { chat: 'Chat.', mail: 'Mail.' } }
    const { childBytes, parentBytes } = await askInside({ instructions }, { channel: 'chat' }, { channel: 'mail' })
    expect(childBytes).toBe(parentBytes.replace('Chat.', 'Mail.'))
  })

  it('A166: uses the remote tools and the params of the run', async () => {
    const remoteTools = [{ name: 'browser', description: 'elsewhere', inputSchema: { type: 'object' as const } }]
    const made = await askInside(
      { instructions: 'You help.' },
      { remoteTools, runtimeParams: { systemPrompt: 'For this run.', temperature: 0.25 } },
    )
    expect(made.parentBytes).toContain('browser')
    expect(made.parentBytes).toContain('For this run.')
    expect(made.childBytes).toBe(made.parentBytes)
    expect(made.child?.temperature).toBe(0.25)
  })

  it('A183: uses the pinned prompt, schemas and model of the run', async () => {
    const [small, big] = [model([call('ask'), { text: 'from the child' }, { text: 'ok' }]), model([])]
    const models = createModels({
      providers: {
        test: {
          languageModel: (id) =>
            Object.assign(Object.create(id === 'small' ? small : big) as typeof small, { provider: 'test', modelId: id }),
        },
      },
    })
    const ask = (description: string) =>
      defineTool({
        name: 'ask',
        description,
        inputSchema: { type: 'object' },
        execute: async (_input, { spawnChild }) => (await spawnChild().run('side').result()).text,
      })
    const agentWith = (id: string, words: string): Agent =>
      defineAgent({ model: `test:${id}`, models, retry: false, instructions: words, tools: [ask(words)] })
    const pinned = await agentWith('small', 'as it was').fingerprint()
    const { result } = await conversation().play(agentWith('big', 'as it is'), 'go', { pinned, runtimeParams: { model: 'test:big' } })
    expect(result.text).toBe('ok')
    const [parent, child] = small.calls.map(bytesOf)
    expect(parent).toContain('as it was')
    expect(parent).not.toContain('as it is')
    expect(child).toBe(parent)
  })

  it('A166: an extension spawns one too, before the prompt is built and after the end', async () => {
    const texts: string[] = []
    const ask = async (_event: unknown, { spawnChild }: { spawnChild: (options?: SpawnChildOptions) => Agent }) =>
      void texts.push((await spawnChild().run('side').result()).text)
    const agent = agentOf([{ text: 'first' }, { text: 'answer' }, { text: 'last' }], {
      instructions: { system: 'You help.', platform: { chat: 'Chat.' } },
      tools: [echo('a').tool],
      extensions: [extension('asks', { onInput: ask, onAgentEnd: ask })],
    })
    const { result } = await conversation().play(agent, 'go', { channel: 'chat' })
    expect(result.text).toBe('answer')
    expect(texts).toEqual(['first', 'last'])
    const [first, answer, last] = agent.model.calls.map(bytesOf)
    expect(answer).toContain('Chat.')
    expect([first, last]).toEqual([answer, answer])
  })

  it('its tools get the session and the context of the run, and may use only the tools on its list', async () => {
    const a = echo('a')
    const talk = conversation()
    const ask = defineTool({
      name: 'ask',
      description: 'x',
      inputSchema: { type: 'object' },
      execute: async (_input, { spawnChild }) =>
        (
          await spawnChild({ tools: ['a'] })
            .run('side')
            .result()
        ).text,
    })
    const agent = agentOf([call('ask'), call('a'), { text: 'child' }, { text: 'ok' }], { tools: [ask, a.tool] })
    await talk.play(agent, 'go', { sessionKey: 'key', context: { user: 'u' } })
    expect(a.calls).toMatchObject([{ sessionKey: 'key', context: { user: 'u' } }])
    expect(() => a.calls[0]?.spawnChild({ tools: ['ask'] })).toThrow('does not have the tool "ask"')
  })
})
