import type { Message } from '@bowline/llm'
import type { SessionOptions, SessionSettings } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it } from 'vitest'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { checkLog, setup, types } from '../support.ts'

const folder = temporaryFolders()
const tool = { name: 'place', description: 'Where the user is.', inputSchema: { type: 'object', properties: {} } }

/** Each of these was once stored, and then ended every run of its session as `store-unavailable`. */
const wrong: readonly [string, object, string][] = [
  ['fewer than no tokens', { runtimeParams: { maxTokens: -5 } }, 'runtimeParams.maxTokens'],
  ['a misspelled parameter', { runtimeParams: { maxToken: 5 } }, 'runtimeParams has no option "maxToken"; did you mean maxTokens?'],
  ['a channel that is a number', { channel: 5 }, 'channel must be a text with at least one character; received 5'],
  ['tools that are no list', { remoteTools: { place: tool } }, 'remoteTools must be a list; received an object'],
  ['a tool that is none', { remoteTools: [null] }, 'remoteTools[0] must be an object; received null'],
  [
    'a tool without a name',
    { remoteTools: [{ ...tool, name: undefined }] },
    'remoteTools[0].name must be a text with at least one character; received undefined',
  ],
  ['a name that no provider takes', { remoteTools: [{ ...tool, name: 'two words' }] }, 'remoteTools[0]: '],
  ['a tool with code', { remoteTools: [{ ...tool, execute: 'rm' }] }, 'remoteTools[0] has no option "execute"'],
  [
    'a schema that is a text',
    { remoteTools: [{ ...tool, inputSchema: 'object' }] },
    'remoteTools[0].inputSchema must be a JSON Schema; received a text of 6 characters',
  ],
  ['two tools of one name', { remoteTools: [tool, tool] }, 'remoteTools[1].name is used twice'],
]

const others: readonly [string, object, string, string?][] = [
  ['metadata that is a list', { metadata: [] }, 'metadata must be an object; received a list of 0'],
  ['metadata that is no JSON', { metadata: { at: new Date(0) } }, 'metadata.at is not a plain object'],
  ['an owner that is a number', { owner: 5 }, 'owner must be a text with at least one character; received 5'],
  ['an agent that is a number', { agent: 5 }, 'agent must be a text with at least one character; received 5'],
  [
    'a misspelled agent',
    { agent: 'asistant' },
    'There is no agent "asistant"; did you mean assistant? There are: assistant.',
    'unknown-agent',
  ],
  ['a life in words', { ttl: { idleMs: '5 minutes' } }, 'ttl.idleMs must be a whole number from 1', 'invalid-config'],
  ['a life that no store can add up', { ttl: { maxAgeMs: Number.MAX_SAFE_INTEGER } }, 'ttl.maxAgeMs', 'invalid-config'],
  ['a misspelled life', { ttl: { idle: 5 } }, 'ttl has no option "idle"', 'invalid-config'],
  ['a misspelled option', { runtimeParam: {} }, 'session.options has no option "runtimeParam"; did you mean runtimeParams?'],
  ['a history that is a text', { history: 'hello' }, 'history must be a list; received a text of 5 characters'],
  ['a history of texts', { history: ['hello'] }, 'history[0] must be a message; received a text of 5 characters'],
  ['a system message', { history: [{ role: 'system', content: 'x' }] }, 'history[0].role must be user, assistant or tool-result'],
  [
    'a message without content',
    { history: [{ role: 'user', content: 'x' }, { role: 'user' }] },
    'history[1] is not a valid message of a transcript: its role or its content is missing',
  ],
]

describe('a session', () => {
  it.each<[string, object, string, string?]>([...wrong, ...others])(
    'S207, S208: with %s it is refused before anything is stored',
    async (_name, options, message, code = 'invalid-input') => {
      const { runtime } = setup({ steps: [] })
      await runtime.start()
      const refused = expect.objectContaining({ code, message: expect.stringContaining(message) as unknown }) as Error
      expect(() => runtime.session('room:1', options as SessionOptions)).toThrow(refused)
      expect((await runtime.sessions()).items).toEqual([])
      await runtime.stop()
    },
  )

  it('S206: an option that is undefined counts as absent', async () => {
    const { runtime } = setup({ steps: [{ text: 'hi' }] })
    await runtime.start()
    const none = {
      agent: undefined,
      owner: undefined,
      metadata: undefined,
      ttl: undefined,
      runtimeParams: { maxTokens: undefined },
      channel: undefined,
      remoteTools: undefined,
      history: undefined,
    }
    const session = runtime.session('room:1', none as unknown as SessionOptions)
    expect(
      await (await session.send('go', { id: undefined, onBusy: undefined, notBefore: undefined, mode: undefined } as object)).result(),
    ).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S13: copies its options, so later changes by the caller have no effect', async () => {
    const { runtime, model } = setup({ steps: [{ text: 'hi' }] })
    await runtime.start()
    const metadata = { topic: 'knots' }
    const history: Message[] = [{ role: 'user', content: 'earlier' }]
    const params = { temperature: 1 }
    const session = runtime.session('room:1', { metadata, history, runtimeParams: params })
    metadata.topic = 'sails'
    params.temperature = 2
    history.pop()
    await (await session.send('go')).result()
    expect((await session.info())?.metadata).toEqual({ topic: 'knots' })
    expect(model.calls[0]?.temperature).toBe(1)
    expect((await session.messages()).items).toHaveLength(3)
    await runtime.stop()
  })
})

describe.each([
  { name: 'memory', make: memoryStore },
  { name: 'sqlite', make: () => sqliteStore({ file: `${folder()}/data.db` }) },
])('a session in the $name store with invalid settings', ({ make }) => {
  it.each(wrong)('S208: %s ends a run with an error that names it, and the session is usable', async (_name, settings, message) => {
    const store = make()
    const { runtime, model, faults } = setup({ steps: [], store })
    await runtime.start()
    const given = JSON.parse(JSON.stringify(settings)) as SessionSettings
    const session = { id: 'old', agent: 'assistant', metadata: {}, settings: given, at: 1 }
    await store.commit({
      id: 'old',
      key: 'room:1',
      expect: [],
      writes: [
        { op: 'session.ensure', session },
        { op: 'event.append', events: [{ event: { type: 'session-start', at: 1, sessionKey: 'room:1' } }] },
      ],
    })
    const run = await runtime.session('room:1').send('go')
    const { status, reason, error } = await run.result()
    expect({ status, reason, code: error && 'code' in error ? error.code : '' }).toEqual({
      status: 'error',
      reason: 'refused',
      code: 'invalid-input',
    })
    expect(error?.message).toContain(`the settings of the session.${message.replace('received undefined', '')}`)
    expect(model.calls).toEqual([])
    expect(faults).toHaveLength(1)
    expect(await runtime.session('room:1').info()).toMatchObject({ status: 'failed', queued: 0 })
    expect(types(await checkLog(runtime.session('room:1'))).slice(-2)).toEqual(['turn-end', 'settled'])
    await runtime.stop()
  })
})

it('S208: a stored answer that its parser rejects ends the run with an error that says so', async () => {
  const store = memoryStore()
  const { runtime } = setup({ steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }], store })
  await runtime.start()
  const session = runtime.session('room:1', { remoteTools: [tool as never] })
  const run = await session.send('where?')
  await run.result()
  const body = { toolCallId: 'c1', hash: 'h', answer: { toolCallId: 'c1', outcome: 'Oslo' } }
  const row = { id: `answer:${run.runId}:c1`, kind: 'answer', at: 1, body } as const
  await store.commit({
    id: 'old',
    key: 'room:1',
    expect: [],
    writes: [
      { op: 'inbox.put', rows: [row] },
      { op: 'run.patch', runId: run.runId, patch: { status: 'queued' } },
    ],
    wake: true,
  } as never)
  const { status, error } = await run.result()
  expect(status).toBe('error')
  expect(error).toMatchObject({ code: 'invalid-input', message: expect.stringContaining('toolResults') as unknown })
  await runtime.stop()
})
