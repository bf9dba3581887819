import { isDurable } from '@bowline/agent-loop'
import { defineAgent } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createToken } from '@bowline/server'
import { bench, gate, refusal, say, stores } from './support/bench.ts'
import { allFrames, completion, eventsOf, typesOf } from './support/frames.ts'

const key = (value: string) => ({ 'idempotency-key': value })

describe.each(stores)('idempotency keys over the $name store', ({ make }) => {
  it('V11: a repeat with the same key and input joins the run and streams it from its first event', async () => {
    const { execute, model } = await bench({ store: make(), steps: [{ text: 'Once.' }] })
    const body = { sessionId: 'mine', input: say('hi'), context: {} }
    const first = await allFrames(await execute(body, key('k1')))
    const again = await allFrames(await execute(body, key('k1')))
    expect(completion(again)).toEqual(completion(first))
    expect(eventsOf(again).filter(isDurable)).toEqual(eventsOf(first).filter(isDurable))
    expect(typesOf(again)[0]).toBe('run-queued')
    expect(model.calls).toHaveLength(1)
  })

  it('V11: a repeat while the run is open joins it instead of being busy', async () => {
    const hold = gate()
    const { execute, model } = await bench({ store: make(), steps: [{ parts: [{ wait: hold.passed }], text: 'Once.' }] })
    const body = { sessionId: 'mine', input: say('hi'), context: {} }
    const first = await execute(body, key('k1'))
    const again = await execute(body, key('k1'))
    expect(again.headers.get('x-run-id')).toBe(first.headers.get('x-run-id'))
    hold.open()
    expect(completion(await allFrames(again))).toEqual(completion(await allFrames(first)))
    expect(model.calls).toHaveLength(1)
  })

  it('V11: without a sessionId the repeat finds the session of the first', async () => {
    const { execute, model } = await bench({ store: make(), steps: [{ text: 'Once.' }] })
    const body = { input: say('hi'), context: {} }
    const first = completion(await allFrames(await execute(body, key('k1'))))
    const again = completion(await allFrames(await execute(body, key('k1'))))
    expect(again).toEqual(first)
    expect(first.sessionId).toMatch(/^s_[A-Za-z0-9_-]{22}$/)
    expect(model.calls).toHaveLength(1)
  })

  it('V11: concurrent repeats make one run', async () => {
    const { execute, model } = await bench({ store: make(), steps: [{ text: 'Once.' }] })
    const body = { input: say('hi'), context: {} }
    const answers = await Promise.all(Array.from({ length: 8 }, () => execute(body, key('k1'))))
    const ends = await Promise.all(answers.map(async (answer) => completion(await allFrames(answer))))
    expect(new Set(ends.map((end) => `${end.sessionId} ${end.runId} ${end.status}`)).size).toBe(1)
    expect(model.calls).toHaveLength(1)
  })

  it('V11: another input under the same key is refused', async () => {
    const { execute, model } = await bench({ store: make(), steps: [{ text: 'Once.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }, key('k1')))
    await refusal(execute({ sessionId: 'mine', input: say('other') }, key('k1')), 422, 'id-reused')
    expect(model.calls).toHaveLength(1)
  })

  it('V11: other runtime params under the same key are refused, the same ones join', async () => {
    const { execute, model } = await bench({
      store: make(),
      steps: [{ text: 'Once.' }],
      agents: { assistant: { runtimeParams: ['temperature'] } },
    })
    const body = { sessionId: 'mine', input: say('hi'), context: {}, options: { runtimeParams: { temperature: 0.5 } } }
    await allFrames(await execute(body, key('k1')))
    await allFrames(await execute(body, key('k1')))
    await refusal(execute({ ...body, options: { runtimeParams: { temperature: 0.7 } } }, key('k1')), 422, 'id-reused')
    await refusal(execute({ ...body, options: {} }, key('k1')), 422, 'id-reused')
    expect(model.calls).toHaveLength(1)
  })

  it('V11: another model under the same key is refused, the same one joins', async () => {
    const models = createModels({ providers: { test: { languageModel: (id: string) => scriptedModel([{ text: id }]) } } })
    const agent = defineAgent({ name: 'chooser', model: 'test:small', models })
    const { execute } = await bench({ store: make(), otherAgents: [agent], agents: { chooser: { models: ['test:small', 'test:large'] } } })
    const ask = (model?: string) =>
      execute(
        { sessionId: 'mine', input: say('hi'), context: { agent: 'chooser' }, ...(model !== undefined && { options: { model } }) },
        key('k1'),
      )
    const first = completion(await allFrames(await ask('test:large')))
    expect(completion(await allFrames(await ask('test:large'))).runId).toBe(first.runId)
    for (const model of ['test:small', undefined]) await refusal(ask(model), 422, 'id-reused')
  })

  it('V11: the same key in two sessions names two inputs', async () => {
    const { execute, model } = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }] })
    const ask = async (sessionId: string) =>
      completion(await allFrames(await execute({ sessionId, input: say('hi'), context: {} }, key('k1'))))
    const runs = [await ask('mine'), await ask('other'), await ask('mine'), await ask('other')].map(({ runId }) => runId)
    expect(runs.slice(2)).toEqual(runs.slice(0, 2))
    expect(model.calls).toHaveLength(2)
  })

  it('V3: a context is not refused if the request that created the session is repeated, and is refused under another key', async () => {
    const { execute } = await bench({ store: make(), steps: [{ text: 'Once.' }, { text: 'Twice.' }] })
    const body = { sessionId: 'mine', input: say('hi'), context: {} }
    await allFrames(await execute(body, key('k1')))
    await allFrames(await execute({ sessionId: 'mine', input: say('more') }, key('k2')))
    expect((await execute(body, key('k1'))).status).toBe(200)
    await refusal(execute(body, key('k2')), 409, 'session-exists')
    await refusal(execute(body), 409, 'session-exists')
  })
})

it('V11: a key has 1 to 255 characters', async () => {
  const { execute } = await bench({ steps: [{ text: 'Hi.' }] })
  const body = { input: say('hi'), context: {} }
  await refusal(execute(body, key('')), 400, 'invalid-query')
  await refusal(execute(body, key('k'.repeat(256))), 400, 'invalid-query')
  expect((await execute(body, key('k'.repeat(255)))).status).toBe(200)
})

it('V11: keys of two principals and of two tenants are different', async () => {
  const tokens = await Promise.all([
    createToken({ id: 'a', tenant: 'red', scopes: ['sessions:write'] }),
    createToken({ id: 'b', tenant: 'red', scopes: ['sessions:write'] }),
    createToken({ id: 'c', tenant: 'blue', scopes: ['sessions:write'] }),
  ])
  const { execute, model } = await bench({
    auth: { tokens: tokens.map((each) => each.config) },
    steps: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }],
  })
  const sessions = new Set<string>()
  for (const { token } of tokens) {
    const answer = await execute({ input: say('hi'), context: {} }, { ...key('same'), authorization: `Bearer ${token}` })
    sessions.add(completion(await allFrames(answer)).sessionId)
  }
  expect(sessions.size).toBe(3)
  expect(model.calls).toHaveLength(3)
})
