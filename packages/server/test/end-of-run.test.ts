import { defineAgent } from '@bowline/agent-loop'
import { createClient, type ClientEvent } from '@bowline/client'
import { scriptedModel, type Step } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import type { SessionReader, SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { describe, expect, it } from 'vitest'
import { bench, gate, remoteTool, say, stores, temporaryFolder, type Bench } from './support/bench.ts'
import { allUiFrames, chatBody, chunkTypes, chunksOf, messageOf, textOf, userMessage } from './support/chat.ts'
import { allFrames, collect, completion, eventsOf, framesUntil, typesOf } from './support/frames.ts'

const answer = 'It is there.'

const scout = defineAgent({ name: 'scout', description: 'Looks.', model: scriptedModel(() => ({ text: 'found' })) })

/** Creates a server whose agent delegates to a subagent that answers at once. */
function benchWithTeam(store: SessionStore, before?: Promise<void>): Promise<Bench> {
  const call: Step = {
    ...(before && { parts: [{ wait: before }] }),
    toolCalls: [{ id: 'd', name: 'delegate_to_scout', input: { prompt: 'look' } }],
  }
  const model = scriptedModel([call, { text: answer, chunk: 3 }])
  const lead = defineAgent({ name: 'lead', description: 'Leads.', model, subagents: [scout] })
  return bench({ store, otherAgents: [lead], defaultAgent: 'lead' })
}

/** Requests through a socket, and requests whose body only the test reads. */
const ways: Readonly<Record<string, (it: Bench) => Pick<Bench, 'post' | 'get'>>> = {
  'over a socket': (it) => it,
  'to a reader that takes nothing before the run has ended': ({ server }) => {
    const send = (path: string, init: RequestInit) =>
      server.fetch(new Request(`http://127.0.0.1${path}`, init), { remoteAddress: '127.0.0.1' })
    const json = { 'content-type': 'application/json' }
    return {
      get: (path, headers = {}) => send(path, { headers }),
      post: (path, body, headers = {}) => send(path, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) }),
    }
  },
}

async function ended({ runtime }: Bench, response: Response): Promise<void> {
  const runId = response.headers.get('x-run-id') ?? ''
  const key = (await runtime.run(runId))?.session ?? ''
  for await (const event of runtime.session(key).events()) if (event.type === 'settled') return
}

const allStores = [...stores, { name: 'file', make: () => fileStore({ dir: temporaryFolder() }) }]
const cases = allStores.flatMap(({ name, make }) => Object.keys(ways).map((way) => ({ name, make, way })))

describe.each(cases)('a run with a subagent that answers at once, over the $name store, $way', ({ make, way }) => {
  const asked = (it: Bench) => (ways[way] ?? expect.fail('there is no such way'))(it)

  it('V5, V6: execute streams the answer, and completes with the status of the last turn-end', async () => {
    const it = await benchWithTeam(make())
    const response = await asked(it).post('/api/agent/execute', { input: say('go'), context: {} })
    await ended(it, response)
    const frames = await allFrames(response)
    expect(completion(frames)).toMatchObject({ status: 'completed' })
    expect(typesOf(frames).slice(-3)).toEqual(['turn-end', 'save-point', 'execute-complete'])
    expect(eventsOf(frames).flatMap((event) => (event.type === 'message-end' ? event.message.content : []))).toContainEqual(
      expect.objectContaining({ text: answer }),
    )
  })

  it('V48: chat streams the answer and finishes', async () => {
    const it = await benchWithTeam(make())
    const response = await asked(it).post('/api/chat', chatBody([userMessage('u1', 'go')]))
    await ended(it, response)
    const frames = await allUiFrames(response)
    expect(chunkTypes(frames).slice(-2)).toEqual(['finish', '[DONE]'])
    expect(textOf(await messageOf(chunksOf(frames)))).toBe(answer)
  })

  it('V29, V30: the events after each cursor of the run end where the undisturbed stream does', async () => {
    const it = await benchWithTeam(make())
    const response = await asked(it).post('/api/agent/execute', { sessionId: 'mine', input: say('go'), context: {} })
    await ended(it, response)
    const log = await collect(it.runtime.session('tenant:local:s:mine').events({ live: false }))
    for (const [index, { cursor }] of log.entries()) {
      const rest = await asked(it).get(`/api/agent/session/mine/events?until=settled&cursor=${cursor}`)
      if (index === log.length - 1) expect(rest.status).toBe(204)
      else expect(eventsOf(await allFrames(rest)).map(({ type }) => type)).toEqual(log.slice(index + 1).map(({ type }) => type))
    }
    await response.body?.cancel()
  })

  it('V33: a stream until settled that was opened earlier ends with the answer', async () => {
    const hold = gate()
    const it = await benchWithTeam(make(), hold.passed)
    const response = await asked(it).post('/api/agent/execute', { sessionId: 'mine', input: say('go'), context: {} })
    const events = await asked(it).get('/api/agent/session/mine/events?until=settled')
    const page = await asked(it).get('/api/chat/mine/stream')
    hold.open()
    await ended(it, response)
    expect(typesOf(await allFrames(events)).slice(-3)).toEqual(['save-point', 'settled', 'stream-end'])
    expect(textOf(await messageOf(chunksOf(await allUiFrames(page))))).toBe(answer)
    expect(completion(await allFrames(response)).status).toBe('completed')
  })
})

describe.each(allStores)('the client and a subagent that answers at once, over the $name store', ({ make }) => {
  it('C3: result() has the answer, and the events end with it', async () => {
    const { url } = await benchWithTeam(make())
    const run = createClient({ baseUrl: url }).session().send('go')
    const events = await collect<ClientEvent>(run)
    expect(events.at(-1)?.type).toBe('save-point')
    expect(await run.result()).toMatchObject({
      status: 'completed',
      messages: expect.arrayContaining([expect.objectContaining({ role: 'assistant' })]) as unknown,
    })
    expect(JSON.stringify((await run.result()).messages)).toContain(answer)
  })
})

describe.each(allStores)('a page that resumes while a subagent works, over the $name store', ({ make }) => {
  it('V49: gets the stream of the answer in progress', async () => {
    const hold = gate()
    const slow = defineAgent({
      name: 'scout',
      description: 'Looks.',
      model: scriptedModel([{ parts: [{ wait: hold.passed }], text: 'found' }]),
    })
    const model = scriptedModel([{ toolCalls: [{ id: 'd', name: 'delegate_to_scout', input: { prompt: 'look' } }] }, { text: answer }])
    const lead = defineAgent({ name: 'lead', description: 'Leads.', model, subagents: [slow] })
    const it = await bench({ store: make(), otherAgents: [lead], defaultAgent: 'lead' })
    const response = await it.post('/api/agent/execute', { sessionId: 'mine', input: say('go'), context: {} })
    const events = await it.get('/api/agent/session/mine/events')
    await framesUntil(events, ({ data }) => data.type === 'save-point')
    const page = await it.get('/api/chat/mine/stream')
    expect(page.status).toBe(200)
    hold.open()
    expect(textOf(await messageOf(chunksOf(await allUiFrames(page))))).toBe(answer)
    expect(completion(await allFrames(response)).status).toBe('completed')
  })
})

/** Creates a server that calls a hook between the end of a run's events and the read of its state. */
async function benchWithHook(store: SessionStore, onLook: (it: Bench, runId: string) => Promise<void>): Promise<Bench> {
  let looks = 0
  const it: Bench = await bench({
    store,
    steps: [{ toolCalls: [{ id: 'r', name: 'ask', input: {} }] }, { text: answer }],
    tools: [remoteTool('ask')],
    make: ({ runtime, ...options }) =>
      createServer({
        ...options,
        runtime: {
          ...runtime,
          run: async (runId) => {
            if (looks++ === 0) await onLook(it, runId)
            return runtime.run(runId)
          },
        },
      }),
  })
  return it
}

async function answered(it: Bench): Promise<void> {
  const { run } = await it.runtime
    .session('tenant:local:s:mine')
    .submitToolResults([{ toolCallId: 'r', output: { type: 'text', value: 'yes' } }])
  await run.result()
}

describe.each(allStores)('a run that continues while its stream ends, over the $name store', ({ make }) => {
  it('V5, V6: execute continues with the segment that another client caused', async () => {
    const it = await benchWithHook(make(), answered)
    const frames = await allFrames(await it.execute({ sessionId: 'mine', input: say('go'), context: {} }))
    expect(typesOf(frames).filter((type) => type === 'turn-end')).toHaveLength(2)
    expect(completion(frames)).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(eventsOf(frames).filter(({ type }) => type === 'message-end'))).toContain(answer)
  })

  it('V8: a run that still waits ends with its pending calls', async () => {
    const it = await benchWithHook(make(), () => Promise.resolve())
    const frames = await allFrames(await it.execute({ sessionId: 'mine', input: say('go'), context: {} }))
    expect(completion(frames)).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'r' }] })
  })
})

describe.each(allStores)('a stream until settled when a run begins meanwhile, over the $name store', ({ make }) => {
  it('V33: ends where nothing was open, not in the middle of the new run', async () => {
    const hold = gate()
    let onInfo: (() => Promise<unknown>) | undefined
    const it = await bench({
      store: make(),
      steps: [{ text: 'one' }, { parts: [{ wait: hold.passed }], text: 'two' }],
      make: ({ runtime, ...options }) =>
        createServer({ ...options, runtime: { ...runtime, reader: (key, readerOptions) => watched(runtime.reader(key, readerOptions)) } }),
    })
    function watched(session: SessionReader): SessionReader {
      const info: SessionReader['info'] = async () => {
        const found = await session.info()
        await onInfo?.()
        return found
      }
      return { ...session, info }
    }
    await allFrames(await it.execute({ sessionId: 'mine', input: say('go'), context: {} }))
    const session = it.runtime.session('tenant:local:s:mine')
    const before = (await collect(session.events({ live: false }))).map(({ type }) => type)
    onInfo = async () => {
      onInfo = undefined
      await session.send('again')
      for await (const event of session.events()) if (event.type === 'message-start' && 'turn' in event && event.turn === 2) return
    }
    expect(typesOf(await allFrames(await it.get('/api/agent/session/mine/events?until=settled&cursor=0')))).toEqual([
      ...before,
      'stream-end',
    ])
    hold.open()
  })
})
