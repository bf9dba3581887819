import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { ScriptedModel, Step } from '@bowline/llm/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { defineAgent } from '../../../src/index.ts'
import type { Agent, AgentOptions } from '../../../src/index.ts'
import { conversation } from '../../support/conversation.ts'
import { mortal } from '../../support/mortal.ts'
import { textOfRequest } from '../../support/prompts.ts'
import { echo } from '../../support/tools.ts'
import { eventsOf, playOut, refusal } from '../../support/waiting.ts'

const busy: Step = { error: refusal(503) }
const denied: Step = { error: refusal(401) }
const made: ScriptedModel[] = []

/** Creates an agent with the models a, b, c. Each has one script, which must be used up. */
function agentOver(
  scripts: readonly (readonly Step[])[],
  options: Partial<AgentOptions> = {},
): { agent: Agent; models: readonly ScriptedModel[] } {
  const models = scripts.map((steps, place) => scriptedModel(steps, { provider: `p-${'abc'[place]}`, modelId: 'abc'[place] ?? '' }))
  made.push(...models)
  const [first, ...fallback] = models
  if (!first) throw new Error('no script')
  return { agent: defineAgent({ model: first, fallback, retry: false, ...options }), models }
}

afterEach(() => {
  for (const scripted of made.splice(0)) scripted.assertDone()
})

describe('fallback', () => {
  it('A185: tries each model in order with its own retries, and message-end names the one that answered', async () => {
    const talk = conversation()
    const { agent } = agentOver([[busy, busy], [busy, busy], [{ text: 'from c' }]], { retry: { jitter: 0, maxRetries: 1 } })
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'from c', steps: 1 })
    expect(eventsOf(talk, 'message-start').map(({ model, attempt }) => `${model.modelId}${attempt}`)).toEqual([
      'a1',
      'a2',
      'b3',
      'b4',
      'c5',
    ])
    expect(
      eventsOf(talk, 'retry-start').map(({ cause, attempt, maxAttempts, delayMs, model }) => [
        cause,
        attempt,
        maxAttempts,
        delayMs,
        model?.modelId,
      ]),
    ).toEqual([
      ['error', 2, 2, 2_000, undefined],
      ['fallback', 3, 4, 0, 'b'],
      ['error', 4, 4, 2_000, undefined],
      ['fallback', 5, 6, 0, 'c'],
    ])
    expect(eventsOf(talk, 'message-end')).toMatchObject([{ attempt: 5, message: { provider: 'p-c', modelId: 'c' } }])
    expect(eventsOf(talk, 'retry-end').map(({ attempt, success }) => [attempt, success])).toEqual([
      [2, false],
      [3, false],
      [4, false],
      [5, true],
    ])
  })

  it('A185: the failed attempt is withdrawn and its usage is booked for its model', async () => {
    const talk = conversation()
    const { agent } = agentOver([[{ text: 'half', finish: false }], [{ text: 'whole' }]])
    await playOut(talk, agent, 'go')
    expect(eventsOf(talk, 'message-discarded')).toMatchObject([{ reason: 'retry', attempt: 1 }])
    expect(eventsOf(talk, 'usage')).toMatchObject([{ purpose: 'discarded-attempt', model: { provider: 'p-a', modelId: 'a' } }])
    expect(talk.view().messages).toHaveLength(2)
  })

  it.each([
    ['auth', 401, 'Unauthorized'],
    ['auth-permanent', 401, 'invalid x-api-key'],
    ['billing', 402, 'insufficient credits'],
    ['model-not-found', 404, 'The model `gpt-9` does not exist'],
  ] as const)('the next model takes over at once after %s', async (kind, status, message) => {
    const talk = conversation()
    const { agent } = agentOver([[{ error: refusal(status, { message }) }], [{ text: 'fine' }]], { retry: { jitter: 0 } })
    expect((await playOut(talk, agent, 'go')).text).toBe('fine')
    expect(eventsOf(talk, 'retry-start')).toMatchObject([{ cause: 'fallback', delayMs: 0, error: { kind } }])
  })

  it('the next model takes over at once if a model cannot be called', async () => {
    const talk = conversation()
    const { agent } = agentOver([[{ error: Object.assign(new Error('no key'), { name: 'AI_LoadAPIKeyError' }) }], [{ text: 'fine' }]], {
      retry: { jitter: 0 },
    })
    expect((await playOut(talk, agent, 'go')).text).toBe('fine')
    expect(eventsOf(talk, 'retry-start')).toMatchObject([{ cause: 'fallback', error: { kind: 'config' } }])
  })

  it.each([
    ['bad-request', { error: refusal(400) }],
    ['content-blocked', { text: 'x', finish: 'content-filter' }],
  ] as const)('A186: %s never falls back, whatever isRetryable returns', async (kind, step) => {
    for (const retry of [false, { jitter: 0, maxRetries: 0, isRetryable: () => true }] as const) {
      const talk = conversation()
      const { agent } = agentOver([[step], []], { retry })
      const result = await playOut(talk, agent, 'go')
      expect(result).toMatchObject({ status: 'error', error: { kind } })
      expect(result.error).not.toHaveProperty('details')
    }
  })

  it('A186: after the last model the turn ends with the first error, with the others in its details', async () => {
    const talk = conversation()
    const { agent } = agentOver([[denied], [busy], [{ error: refusal(400) }]])
    const result = await playOut(talk, agent, 'go')
    expect(result).toMatchObject({
      status: 'error',
      error: {
        kind: 'auth',
        modelId: 'a',
        details: [
          { kind: 'overloaded', modelId: 'b' },
          { kind: 'bad-request', modelId: 'c' },
        ],
      },
    })
    expect(eventsOf(talk, 'turn-end')).toMatchObject([{ error: { kind: 'auth', details: [{}, {}] } }])
    expect(eventsOf(talk, 'message-end')).toMatchObject([{ message: { modelId: 'c', error: { kind: 'bad-request' } } }])
  })

  it('A186: also with onFailedTurn rewind', async () => {
    const talk = conversation()
    const { agent } = agentOver([[denied], [busy]], { onFailedTurn: 'rewind' })
    expect((await playOut(talk, agent, 'go')).error).toMatchObject({ kind: 'auth', details: [{ kind: 'overloaded' }] })
    expect((await talk.memory.load()).messages).toEqual([])
  })

  it('the next step and the next turn start with the first model again', async () => {
    const talk = conversation()
    const steps: Step[][] = [
      [busy, busy, { text: 'turn two' }],
      [{ toolCalls: [{ id: 'x', name: 'a', input: {} }] }, { text: 'turn one' }],
    ]
    const { agent } = agentOver(steps, { tools: [echo('a').tool] })
    await playOut(talk, agent, 'go')
    expect((await playOut(talk, agent, 'on')).text).toBe('turn two')
    expect(eventsOf(talk, 'message-start').map(({ step, model }) => `${step}${model.modelId}`)).toEqual(['1a', '1b', '2a', '2b', '1a'])
    expect(eventsOf(talk, 'step-start').map(({ model }) => model.modelId)).toEqual(['a', 'a', 'a'])
  })

  it('the next model takes over without a wait for a delay above maxServerDelayMs', async () => {
    const talk = conversation()
    const { agent } = agentOver([[{ error: refusal(429, { retryAfter: 600 }) }], [{ text: 'fine' }]], { retry: { jitter: 0 } })
    expect((await playOut(talk, agent, 'go')).text).toBe('fine')
    expect(talk.clock.now()).toBe(1_000)
  })

  it('the next model does not get reasoning that another provider has signed', async () => {
    const talk = conversation()
    const thinks: Step = { reasoning: 'secret thoughts', text: 'said', toolCalls: [{ id: 'x', name: 'a', input: {} }] }
    const { agent, models } = agentOver([[thinks, denied], [{ text: 'fine' }]], { tools: [echo('a').tool] })
    expect((await playOut(talk, agent, 'go')).text).toBe('fine')
    const request = textOfRequest(models[1]?.calls[0])
    expect(request).toContain('said')
    expect(request).not.toContain('"reasoning"')
  })

  it('A185: after a crash in the wait of a later model the run goes on with that model, and keeps the earlier errors', async () => {
    const { talk, revive } = mortal('retry-start', 'after', 2)
    const retry = { jitter: 0, maxRetries: 1 }
    await playOut(talk, agentOver([[denied], [busy]], { retry }).agent, 'go')
    revive()
    const again = agentOver([[], [busy]], { retry })
    const result = await playOut(talk, again.agent, undefined)
    expect(result.error).toMatchObject({ kind: 'auth', details: [{ kind: 'overloaded' }] })
    expect(eventsOf(talk, 'message-start').map(({ model, attempt }) => `${model.modelId}${attempt}`)).toEqual(['a1', 'b2', 'b3'])
  })

  it('A185: after a crash in the first attempt the run goes on with the first model', async () => {
    const { talk, revive } = mortal('message-start', 'after')
    await playOut(talk, agentOver([[], []]).agent, 'go')
    revive()
    expect((await playOut(talk, agentOver([[{ text: 'from a' }], []]).agent, undefined)).text).toBe('from a')
    expect(eventsOf(talk, 'message-start').map(({ model, attempt }) => `${model.modelId}${attempt}`)).toEqual(['a1', 'a1'])
  })

  it('A3: a run refuses a fallback that no registry resolves, before any event', () => {
    const scripted = scriptedModel([])
    const models = createModels({ providers: { test: { languageModel: () => scripted } } })
    for (const fallback of ['unknown:x', { provider: 'unknown', model: 'x' }] as const) {
      const agent = defineAgent({ model: scripted, models, fallback: [fallback] })
      expect(() => agent.run('go')).toThrow(
        expect.objectContaining({ code: 'invalid-config', message: expect.stringContaining('fallback[0]') as string }),
      )
    }
  })

  it('a model from prepareStep replaces the first one, before the same list', async () => {
    const talk = conversation()
    const own = scriptedModel([busy], { provider: 'p-own', modelId: 'own' })
    const { agent } = agentOver([[], [{ text: 'from b' }]], { prepareStep: () => ({ model: own }) })
    expect((await playOut(talk, agent, 'go')).text).toBe('from b')
    expect(eventsOf(talk, 'message-start').map(({ model }) => model.modelId)).toEqual(['own', 'b'])
  })
})
