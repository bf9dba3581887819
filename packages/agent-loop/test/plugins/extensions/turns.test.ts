import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { createMemoryJournal } from '../../../src/index.ts'
import type { AgentEvent, AgentOptions } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { mortal } from '../../support/mortal.ts'
import { textOfRequest } from '../../support/prompts.ts'
import { echo, until } from '../../support/tools.ts'
import { guardrail } from '../guardrails/support.ts'
import { extension, never } from './support.ts'

const call = (name: string, id = 'x', input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })
const errorsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'error')
const throwing = () => {
  throw new Error('bad')
}

describe('inputs', () => {
  it('A145: a transformed input is what is stored and sent', async () => {
    const talk = conversation()
    const upper = extension('upper', { onInput: ({ input }) => ({ action: 'transform', input: (input as string).toUpperCase() }) })
    const agent = agentOf([{ text: 'ok' }], { extensions: [upper] })
    const { result } = await talk.play(agent, 'hello')
    expect(result.messages[0]).toMatchObject({ role: 'user', content: 'HELLO' })
    expect(textOfRequest(agent.model.calls[0])).toContain('HELLO')
    expect(textOfRequest(agent.model.calls[0])).not.toContain('hello')
  })

  it('A145: a handled input leaves nothing in the transcript and calls no model', async () => {
    const talk = conversation()
    const agent = agentOf([], { extensions: [extension('bot', { onInput: () => ({ action: 'handled', reply: 'pong' }) })] })
    const { result } = await talk.play(agent, 'ping')
    expect(result).toMatchObject({ status: 'completed', reason: 'handled', messages: [], text: 'pong' })
    expect((await talk.memory.load()).messages).toEqual([])
    expect(talk.types()).toEqual(['turn-start', 'turn-end', 'save-point', 'settled'])
  })

  it('A145: nor does a handled input after a crash before its end', async () => {
    const { talk, revive } = mortal('turn-end', 'before')
    const bot = extension('bot', { onInput: () => ({ action: 'handled' }) })
    // Its commit comes between the beginning of the turn and its end.
    const agent = agentOf([], { extensions: [bot], guardrails: [guardrail('looks', { onTurnStart: () => undefined })] })
    expect((await talk.play(agent, 'ping', { mode: 'synchronized' })).result.reason).toBe('journal-error')
    revive()
    expect((await talk.play(agent, undefined)).result).toMatchObject({ status: 'completed', reason: 'handled', messages: [], steps: 0 })
    expect((await talk.memory.load()).messages).toEqual([])
  })
})

describe('requests', () => {
  it('A146: transformContext changes the request and never the transcript', async () => {
    const talk = conversation()
    const hide = extension('hide', {
      transformContext: ({ messages }) => ({ messages: [...messages, { role: 'user', content: 'only for you' }] }),
    })
    const agent = agentOf([{ text: 'ok' }], { extensions: [hide] })
    const { result } = await talk.play(agent, 'hello')
    expect(textOfRequest(agent.model.calls[0])).toContain('only for you')
    expect(JSON.stringify(result.messages)).not.toContain('only for you')
    expect(JSON.stringify(talk.journal.log)).not.toContain('only for you')
  })

  it('A142: the model gets the instructions and request settings of extensions', async () => {
    const talk = conversation()
    const shape = extension('shape', {
      beforeAgentStart: ({ instructions }) => ({ instructions: `${instructions} Be brief.`, append: ['by the way'] }),
      beforeModelCall: () => ({ runtimeParams: { temperature: 0.5 }, activeTools: [] }),
    })
    const agent = agentOf([{ text: 'ok' }], { instructions: 'You help.', tools: [echo('read').tool], extensions: [shape] })
    await talk.play(agent, 'hello')
    const [request] = agent.model.calls
    expect(textOfRequest(request)).toContain('You help. Be brief.')
    expect(textOfRequest(request)).toContain('by the way')
    expect(request?.temperature).toBe(0.5)
    expect(request?.tools ?? []).toEqual([])
  })
})

describe('failures', () => {
  const hooks = [
    'onInput',
    'beforeAgentStart',
    'onTurnStart',
    'transformContext',
    'onStepStart',
    'beforeModelCall',
    'onModelRequest',
    'afterModelCall',
    'onToolResult',
    'onToolSettled',
    'onStepEnd',
    'onAgentEnd',
    'onSavePoint',
    'onSettled',
    'onEvent',
  ] as const
  const turnOf = (options: Partial<AgentOptions>) => agentOf([call('echo'), { text: 'ok' }], { tools: [echo('echo').tool], ...options })
  const perTurn = new Set<string>(['onInput', 'beforeAgentStart', 'onTurnStart', 'onAgentEnd', 'onSavePoint', 'onSettled', 'onEvent'])
  const perStep = new Set<string>(['transformContext', 'onStepStart', 'beforeModelCall', 'onModelRequest', 'afterModelCall', 'onStepEnd'])

  it.each(hooks)('A143: a throwing %s gives an error event each time and does not end the turn', async (hook) => {
    const talk = conversation()
    const { result } = await talk.play(turnOf({ extensions: [extension('broken', { [hook]: throwing })] }), 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'ok' })
    const times = perTurn.has(hook) ? 1 : perStep.has(hook) ? 2 : 1
    const error = { type: 'error', source: 'extension', name: 'broken', hook, message: 'bad', fatal: false }
    expect(errorsOf(talk.journal.log)).toMatchObject(Array<object>(times).fill(error))
  })

  it.each(hooks.filter((hook) => !['onAgentEnd', 'onSavePoint', 'onSettled'].includes(hook)))(
    'A143: with fail a throwing %s ends the turn as extension-error',
    async (hook) => {
      const talk = conversation()
      const scripted = {
        onEvent: 0,
        onInput: 0,
        beforeAgentStart: 0,
        onTurnStart: 0,
        transformContext: 0,
        onStepStart: 0,
        beforeModelCall: 0,
        onModelRequest: 0,
      }
      const steps = hook in scripted ? [] : [call('echo')]
      const agent = agentOf(steps, {
        tools: [echo('echo').tool],
        extensions: [extension('broken', { [hook]: throwing }, { onError: 'fail' })],
      })
      const { result } = await talk.play(agent, 'go')
      expect(result).toMatchObject({ status: 'error', reason: 'extension-error', error: { code: 'extension-error' } })
      expect(errorsOf(talk.journal.log)[0]).toMatchObject({ name: 'broken', hook, fatal: true })
    },
  )

  it('A143: the turn goes on without a hook that hangs', async () => {
    const talk = conversation()
    const run = talk.run(turnOf({ extensions: [extension('slow', { onStepStart: never }, { timeoutMs: 100 })] }), 'go')
    await until(() => talk.clock.pendingTimers === 1)
    await talk.clock.advance(100)
    await until(() => talk.clock.pendingTimers === 1)
    await talk.clock.advance(100)
    expect((await run.result()).status).toBe('completed')
    expect(errorsOf(talk.journal.log)).toMatchObject([{ message: 'no answer within 100 ms' }, { message: 'no answer within 100 ms' }])
  })

  it('A109: an abort reaches hooks', async () => {
    const talk = conversation()
    const signals: AbortSignal[] = []
    const waiting = extension('slow', { transformContext: (_event, { abortSignal }) => (signals.push(abortSignal), never()) })
    const run = talk.run(agentOf([], { extensions: [waiting] }), 'go')
    await until(() => signals.length === 1)
    run.abort()
    expect((await run.result()).status).toBe('aborted')
    expect(signals[0]?.aborted).toBe(true)
    expect(errorsOf(talk.journal.log)).toEqual([])
  })

  it.each(['onToolCall', 'beforeCall'] as const)('A179: a call whose %s is interrupted by a yield stays open', async (handler) => {
    const talk = conversation({ unfinished: true })
    const leave = new AbortController()
    let asked = false
    const hang = () => ((asked = true), never())
    const observers =
      handler === 'onToolCall'
        ? { extensions: [extension('slow', { onToolCall: hang })] }
        : { guardrails: [guardrail('slow', { beforeCall: hang })] }
    const agent = agentOf([call('echo'), { text: 'ok' }], { tools: [echo('echo').tool] })
    const run = talk.run(agentOf([], { ...observers, model: agent.model, tools: [echo('echo').tool] }), 'go', { abortSignal: leave.signal })
    await until(() => asked)
    leave.abort({ kind: 'yield' })
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect((await talk.memory.load()).open?.calls).toMatchObject([{ toolCallId: 'x', state: 'pending' }])
    const { result } = await talk.play(agent, undefined)
    expect(result).toMatchObject({ status: 'completed', text: 'ok' })
  })

  it('A33: the journal accepts new runs after a hook that threw', async () => {
    const journal = createMemoryJournal()
    const broken = extension('broken', { onTurnStart: throwing }, { onError: 'fail' })
    await agentOf([], { extensions: [broken] })
      .run('go', { journal })
      .result()
    expect(
      await agentOf([{ text: 'ok' }])
        .run('again', { journal })
        .result(),
    ).toMatchObject({ status: 'completed' })
  })
})

describe('the end of a turn', () => {
  it('A150: onAgentEnd, onSavePoint and onSettled run in this order, the first after turn-end is durable', async () => {
    const talk = conversation()
    const seen: string[] = []
    const note = (name: string) => () => void seen.push(`${name} ${talk.types().includes('turn-end')} ${talk.types().includes('settled')}`)
    const agent = agentOf([{ text: 'ok' }], {
      extensions: [extension('a', { onAgentEnd: note('end'), onSavePoint: note('save'), onSettled: note('settled') })],
    })
    await talk.play(agent, 'go')
    expect(seen).toEqual(['end true false', 'save true false', 'settled true true'])
  })

  it('A150: a follow-up from onAgentEnd is a turn of its own', async () => {
    const talk = conversation()
    const once = extension('more', {
      onAgentEnd: async (_event, context) => {
        if (context.turn === 1) await context.followUp('and more')
      },
    })
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], { extensions: [once] })
    const { result } = await talk.play(agent, 'go')
    expect(result.text).toBe('two')
    expect(talk.types().filter((type) => type === 'turn-end')).toHaveLength(2)
  })
})
