import { createModels } from '@bowline/llm'
import type { UserMessage } from '@bowline/llm'
import { APICallError } from 'ai'
import { describe, expect, it } from 'vitest'
import { createMemoryJournal, defineAgent, defineExtension } from '../../../src/index.ts'
import type { Journal } from '../../../src/index.ts'
import { anchorOf, Overlays } from '../../../src/plugins/steering/overlays.ts'
import { agentOf, conversation, model } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'
import { outerInbox } from '../../support/outer-inbox.ts'
import { rolesOf, userTexts } from '../../support/prompts.ts'
import { echo, gated, latch, remote, until } from '../../support/tools.ts'

const call = (id: string, name = 'wait') => ({ toolCalls: [{ id, name, input: {} }] })
const overloaded = new APICallError({ message: 'busy', url: 'http://x', requestBodyValues: {}, statusCode: 503, isRetryable: true })
const refused = new APICallError({ message: 'no', url: 'http://x', requestBodyValues: {}, statusCode: 400 })

/** Creates a journal whose process can die: it accepts no commits until it is revived. */
function mortal() {
  const state = { dead: false }
  const wrap = (journal: Journal): Journal => ({
    ...journal,
    commit: (records, expect) => (state.dead ? Promise.reject(new Error('died')) : journal.commit(records, expect)),
  })
  return Object.assign(state, { wrap })
}

/** Checks that the text is nowhere where it can be read later. */
async function checkUnseen(talk: Conversation, text: string): Promise<void> {
  const { messages } = await talk.memory.load()
  expect(JSON.stringify(messages)).not.toContain(text)
  expect(JSON.stringify(talk.journal.log)).not.toContain(text)
}

describe('an overlay', () => {
  it('A99: before the first call it is directly above the current user message, whether the caller or a hook gives it', async () => {
    const talk = conversation()
    const extension = defineExtension({
      name: 'guide',
      hooks: {
        beforeAgentStart: () => ({ append: ['appended'] }),
        onTurnStart: async (_event, context) => void (await context.overlay('Monday')),
        onStepStart: async (_event, context) => void (await context.overlay('in May')),
      },
    })
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], { extensions: [extension] })
    await talk.play(agent, 'earlier')
    const run = talk.run(agent, 'go', { overlays: ['no rain'] })
    await run.result()
    expect(userTexts(agent.model.calls[1])).toEqual(['earlier', 'appended', 'no rain', 'Monday', 'in May', 'go', 'appended'])
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'user', 'assistant', 'user', 'user', 'user', 'user', 'user'])
    const inputs = talk.journal.events.filter((event) => event.type === 'runtime-input' && event.turn === 2 && event.source === 'overlay')
    expect(inputs).toMatchObject([
      { placement: 'turn-start', characters: 7 },
      { placement: 'turn-start', characters: 6 },
      { placement: 'step-start', characters: 6 },
    ])
    expect(inputs.some((input) => 'message' in input)).toBe(false)
    for (const text of ['no rain', 'Monday', 'in May']) await checkUnseen(talk, text)
  })

  it('A99: it is directly above it also after a turn that failed', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { error: refused }, { text: 'three' }])
    await talk.play(agent, 'first')
    await talk.play(agent, 'second')
    await talk.play(agent, 'third', { overlays: ['it is Monday'] })
    expect(userTexts(agent.model.calls[2])).toEqual(['first', 'second', 'it is Monday', 'third'])
  })

  it('A99, A103: later it is appended and stays there, and nothing before it moves', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const agent = agentOf([call('a'), call('b'), { text: 'x' }], { tools: [wait.tool] })
    const run = talk.run(agent, 'go', { overlays: ['above'] })
    await until(() => wait.started.length === 1)
    await Promise.all([run.overlay('o1'), run.steer('s'), run.overlay('o2')])
    wait.open('a')
    await until(() => wait.started.length === 2)
    await run.overlay('o3')
    wait.open('b')
    await run.result()
    expect(rolesOf(agent.model.calls[1])).toEqual(['user', 'user', 'assistant', 'tool', 'user', 'user', 'user'])
    expect(userTexts(agent.model.calls[2])).toEqual(['above', 'go', 'o1', 's', 'o2', 'o3'])
    const [first, second, third] = agent.model.calls.map(({ prompt }) => prompt)
    expect(second?.slice(0, first?.length)).toEqual(first)
    expect(third?.slice(0, second?.length)).toEqual(second)
  })

  it('A101: at a final answer it leads to one more step, before the first call it does not', async () => {
    const talk = conversation()
    const spoken = latch()
    const agent = agentOf([{ text: 'one' }, { text: 'bye', expect: () => spoken.resolve() }, { text: 'still here' }])
    expect((await talk.play(agent, 'go', { overlays: ['early'] })).result.steps).toBe(1)
    const run = talk.run(agent, 'again')
    await spoken.promise
    await run.overlay('it has become Tuesday')
    expect(await run.result()).toMatchObject({ text: 'still here', steps: 2 })
    expect(rolesOf(agent.model.calls[2]).slice(-3)).toEqual(['user', 'assistant', 'user'])
  })

  it('A100: it exists only in its turn; the end of the turn has the number of overlays', async () => {
    const talk = conversation()
    const agent = agentOf([{ text: 'one' }, { text: 'two' }])
    await talk.play(agent, 'go', { overlays: ['one', 'two'] })
    await talk.play(agent, 'again')
    expect(agent.model.calls.map(userTexts)).toEqual([
      ['one', 'two', 'go'],
      ['go', 'again'],
    ])
    expect(talk.journal.events.flatMap((event) => (event.type === 'turn-end' ? [event.overlaysExpired] : []))).toEqual([2, 0])
    expect(JSON.stringify(talk.memory.snapshot())).not.toContain('"overlays"')
  })

  it('A100: survives a retry', async () => {
    const talk = conversation()
    const agent = agentOf([{ error: overloaded }, { text: 'x' }], { retry: { maxRetries: 1, baseDelayMs: 0, jitter: 0 } })
    await talk.play(agent, 'go', { overlays: ['it is Monday'] })
    expect(agent.model.calls.map(userTexts)).toEqual([
      ['it is Monday', 'go'],
      ['it is Monday', 'go'],
    ])
  })

  it('A100: keeps its place when messages before it are withdrawn, also in another process', async () => {
    const life = mortal()
    const talk = conversation({ wrap: life.wrap, unfinished: true })
    const look = gated('look', { effect: 'pure' })
    const agent = agentOf([call('a', 'look'), { error: overloaded }, call('b', 'look')], {
      tools: [look.tool],
      retry: { maxRetries: 1, baseDelayMs: 0, jitter: 0, rewind: 'turn' },
    })
    const run = talk.run(agent, 'go', { overlays: ['above'] })
    await until(() => look.started.length === 1)
    await Promise.all([run.overlay('below'), run.steer('more')])
    look.open('a')
    await until(() => look.started.length === 2)
    expect(userTexts(agent.model.calls[1])).toEqual(['above', 'go', 'below', 'more'])
    expect(userTexts(agent.model.calls[2])).toEqual(['above', 'go', 'below', 'more'])
    life.dead = true
    look.open('b')
    await run.result()
    life.dead = false
    const next = agentOf([{ text: 'x' }], { tools: [look.tool] })
    const second = talk.run(next, undefined)
    await until(() => look.started.length === 3)
    look.open('b')
    await second.result()
    expect(userTexts(next.model.calls[0])).toEqual(['above', 'go', 'below', 'more'])
    await checkUnseen(talk, 'below')
  })

  it('A100: survives a crash in its turn, and a suspension', async () => {
    const talk = conversation()
    const agent = agentOf([call('r', 'far')], { tools: [remote('far')] })
    await talk.play(agent, 'go', { overlays: ['it is Monday'] })
    expect(talk.journal.events.findLast((event) => event.type === 'turn-end')).toMatchObject({
      status: 'awaiting-tools',
      overlaysExpired: 0,
    })
    const elsewhere = createMemoryJournal({ snapshot: talk.memory.snapshot() })
    const next = agentOf([{ text: 'x' }], { tools: [remote('far')] })
    await next.run({ toolResults: [{ toolCallId: 'r', output: 1 }] }, { journal: elsewhere, overlays: ['no, Tuesday'] }).result()
    expect(userTexts(next.model.calls[0])).toEqual(['it is Monday', 'go', 'no, Tuesday'])
    expect(rolesOf(next.model.calls[0])).toEqual(['user', 'user', 'assistant', 'tool', 'user'])
  })

  it('A100: those of a run appear once, whenever its process dies before its first answer', async () => {
    for (let commits = 1; commits <= 3; commits++) {
      const life = mortal()
      let left = commits
      const talk = conversation({
        unfinished: true,
        wrap: (journal) =>
          life.wrap({
            ...journal,
            commit: (records, expect) => (left-- > 0 ? journal.commit(records, expect) : Promise.reject(new Error('died'))),
          }),
      })
      const extension = defineExtension({
        name: 'guide',
        hooks: { beforeAgentStart: () => ({ append: ['appended'] }), onStepStart: () => undefined },
      })
      const options = { overlays: ['it is Monday'] }
      const first = await talk.play(agentOf(commits < 3 ? [] : [{ text: 'lost' }], { extensions: [extension] }), 'go', options)
      expect(first.result.reason).toBe('journal-error')
      left = Infinity
      const agent = agentOf([{ text: 'x' }], { extensions: [extension] })
      await talk.play(agent, undefined, options)
      expect(userTexts(agent.model.calls[0]), `${commits} commits`).toEqual(['it is Monday', 'go', 'appended'])
    }
  })

  it('A99: an overlay that comes after a crash before the first answer is placed above the input too', async () => {
    const outer = outerInbox()
    const life = mortal()
    const talk = conversation({ unfinished: true, wrap: (journal) => outer.wrap(life.wrap(journal)) })
    const dying = defineExtension({ name: 'dying', hooks: { onTurnStart: () => void (life.dead = true) } })
    await talk.play(agentOf([], { extensions: [dying] }), 'go')
    life.dead = false
    outer.give('overlay', 'it is Monday')
    outer.give('steer', 'hurry')
    outer.give('overlay', 'in May')
    const agent = agentOf([{ text: 'x' }])
    await talk.play(agent, undefined)
    expect(userTexts(agent.model.calls[0])).toEqual(['it is Monday', 'in May', 'go', 'hurry'])
  })

  it('A99: after the first answer it is appended, also by a process that finds the step ended', async () => {
    const outer = outerInbox()
    const life = mortal()
    const talk = conversation({ unfinished: true, wrap: (journal) => outer.wrap(life.wrap(journal)) })
    const dying = defineExtension({ name: 'dying', hooks: { onStepEnd: () => void (life.dead = true) } })
    const { tool } = echo('a')
    await talk.play(agentOf([call('x', 'a')], { extensions: [dying], tools: [tool] }), 'go')
    life.dead = false
    expect((await talk.memory.load()).open).toMatchObject({ step: 1, stepState: 'ended' })
    outer.give('overlay', 'late')
    const agent = agentOf([{ text: 'x' }], { tools: [tool] })
    await talk.play(agent, undefined)
    expect(rolesOf(agent.model.calls[0])).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  it('A100: a compaction in its turn leaves it in its place, or above what is left', async () => {
    const talk = conversation()
    const wait = gated('wait')
    const overflow = Object.assign(new Error('prompt is too long: 20000 tokens > 10000 maximum'), { statusCode: 400 })
    const scripted = model([{ text: 'word '.repeat(600) }, call('a'), { error: overflow }, { text: 'what was said' }, { text: 'x' }])
    const models = createModels({
      providers: { test: { languageModel: () => scripted } },
      models: { 'test:small': { contextWindow: 10_000 } },
    })
    const agent = defineAgent({
      model: 'test:small',
      models,
      retry: false,
      tools: [wait.tool],
      compaction: { keepRecentTokens: 50 },
      runtimeParams: { maxTokens: 500 },
    })
    await talk.play(agent, 'first')
    const run = talk.run(agent, 'go', { overlays: ['above'] })
    await until(() => wait.started.length === 1)
    await run.overlay('below')
    wait.open('a')
    expect((await run.result()).text).toBe('x')
    const [, , tooLong, , repeated] = scripted.calls
    expect(userTexts(tooLong)).toEqual(['first', 'above', 'go', 'below'])
    expect(userTexts(repeated)).toEqual([expect.stringContaining('what was said') as string, 'above', 'go', 'below'])
    expect(rolesOf(repeated)).toEqual(['user', 'user', 'user', 'assistant', 'tool', 'user'])
  })
})

describe('the places of overlays', () => {
  const message = (id: string) => ({ role: 'user', id, content: id }) as const
  const texts = (overlays: Overlays, ...view: Parameters<Overlays['into']>) =>
    overlays.into(...view).map((shown) => (shown as UserMessage).content)
  const at = (anchor: string, content: string) => ({ inputId: content, anchor, content })

  it('are after their anchors, in the order in which they came', () => {
    const overlays = new Overlays([at('a', '1'), at('b', '2'), at('a', '3'), at('', '4')])
    expect(texts(overlays, [message('a'), message('b'), message('c')])).toEqual(['4', 'a', '1', '3', 'b', '2', 'c'])
  })

  it('are after a summary when their anchor is no longer shown', () => {
    const overlays = new Overlays([at('a', '1'), at('b', '2')])
    expect(texts(overlays, [message('summary'), message('b')], 'summary')).toEqual(['summary', '1', 'b', '2'])
    expect(texts(overlays, [message('summary')], 'summary')).toEqual(['summary', '1', '2'])
    expect(texts(new Overlays([at('summary', '1')]), [message('summary'), message('b')], 'summary')).toEqual(['summary', '1', 'b'])
  })

  it('A170: placing them in a growing view costs only the new part, with the same result as placing all at once', () => {
    const overlays = new Overlays([at('a', '1'), at('', '2')])
    const reads: string[] = []
    const watched = (id: string) => ({
      ...message(id),
      get id() {
        reads.push(id)
        return id
      },
    })
    const view = [watched('a'), watched('b')]
    expect(texts(overlays, view)).toEqual(['2', 'a', '1', 'b'])
    view.push(watched('c'))
    reads.length = 0
    expect(texts(overlays, view)).toEqual(['2', 'a', '1', 'b', 'c'])
    expect(new Set(reads)).toEqual(new Set(['c']))
    overlays.add(at('c', '3'))
    expect(texts(overlays, view)).toEqual(['2', 'a', '1', 'b', 'c', '3'])
    expect(texts(overlays, view.slice(1))).toEqual(['1', '2', 'b', 'c', '3'])
  })

  it('are the same objects for every request', () => {
    const overlays = new Overlays([at('a', '1')])
    expect(overlays.into([message('a')])[1]).toBe(overlays.into([message('a')])[1])
    const view = [message('a')]
    expect(new Overlays().into(view)).toBe(view)
  })

  it('are above the input until there is an answer', () => {
    const view = [message('a'), message('b'), message('c')]
    expect([
      anchorOf(view, 'b', false),
      anchorOf(view, 'a', false),
      anchorOf(view, 'b', true),
      anchorOf(view, undefined, false),
      anchorOf([], undefined, false),
    ]).toEqual(['a', '', 'c', 'c', ''])
  })
})
