import { defineAgent } from '@bowline/agent-loop'
import { createAdmin } from '@bowline/client/admin'
import { scriptedModel } from '@bowline/llm/testing'
import { createToken, type Scope } from '@bowline/server'
import { recordRequests } from '@bowline/sessions/requests'
import { describe, expect, it } from 'vitest'
import { bench, localTool, say, stores } from './support/bench.ts'
import { allFrames } from './support/frames.ts'

const call = (name: string) => ({ toolCalls: [{ id: `call-${name}`, name, input: {} }] })

describe.each(stores)('requests to models, over $name', ({ make }) => {
  it('D55: a caller with the scope for it lists the requests of a session, page by page, and reads each in full', async () => {
    const callers: Readonly<Record<string, readonly [tenant: string, scopes: Scope[]]>> = {
      inspector: ['acme', ['requests:read']],
      writer: ['acme', ['sessions:read', 'sessions:write', 'sessions:delete']],
      stranger: ['rival', ['admin']],
    }
    const tokens = await Promise.all(Object.entries(callers).map(([id, [tenant, scopes]]) => createToken({ id, tenant, scopes })))
    const [inspector = '', writer = '', stranger = ''] = tokens.map(({ token }) => token)
    const store = make()
    const requests = recordRequests({ store })
    const { url, execute, model, get } = await bench({
      store,
      requests,
      extensions: [requests.extension],
      auth: { tokens: tokens.map(({ config }) => config) },
      runtimeOptions: { requests },
      tools: [localTool('look', () => 'a rope')],
      steps: [call('look'), { text: 'A rope.' }],
    })
    await allFrames(await execute({ sessionId: 'mine', input: say('What is there?'), context: {} }, { authorization: `Bearer ${writer}` }))
    const of = (token: string) => createAdmin({ baseUrl: url, token }).session('mine').requests
    const { list, get: read } = of(inspector)
    const first = await list({ limit: 1 })
    const second = await list({ limit: 1, cursor: first.nextCursor ?? '' })
    const [newest, oldest] = [...first.requests, ...second.requests]
    expect([newest, oldest]).toMatchObject([
      { step: 2, purpose: 'answer', sharedCount: 1, messageCount: 3, toolCount: 1 },
      { step: 1, messageCount: 1 },
    ])
    expect(second.nextCursor).toBeUndefined()
    expect((await list()).requests).toEqual([newest, oldest])
    const whole = await read(newest?.id ?? '')
    const { prompt, tools } = model.calls[1] ?? {}
    expect(whole).toMatchObject(JSON.parse(JSON.stringify({ ...newest, prompt, tools })) as object)
    await expect(read('nobody')).rejects.toMatchObject({ code: 'unknown-request', status: 404 })
    await expect(of(writer).list()).rejects.toMatchObject({ code: 'scope-missing', status: 403 })
    await expect(of(stranger).get(newest?.id ?? '')).rejects.toMatchObject({ code: 'session-missing' })
    await fetch(`${url}/api/agent/session/mine`, { method: 'DELETE', headers: { authorization: `Bearer ${writer}` } })
    await expect(list()).rejects.toMatchObject({ code: 'session-deleted' })
    expect((await requests.list('tenant:acme:s:mine')).items).toEqual([])
    expect((await get('/api/agent/session/mine/requests')).status).toBe(401)
  })
})

it('D55: the requests of a subagent are read under its own id, and a server without a recorder has no routes for them', async () => {
  const requests = recordRequests({ store: (await bench()).runtime.store })
  const scout = defineAgent({
    name: 'scout',
    description: 'scouts',
    model: scriptedModel([{ text: 'found' }]),
    extensions: [requests.extension],
  })
  const root = defineAgent({
    name: 'root',
    model: scriptedModel([{ toolCalls: [{ id: 'd', name: 'delegate_to_scout', input: { prompt: 'go' } }] }, { text: 'done' }]),
    subagents: [scout],
  })
  const { url, execute } = await bench({ requests, runtimeOptions: { agents: [root] } })
  await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} }))
  const admin = createAdmin({ baseUrl: url })
  expect((await admin.session('mine').requests.list()).requests).toEqual([])
  const { sessions } = (await (await fetch(`${url}/api/agent/sessions?parent=mine`)).json()) as {
    readonly sessions: readonly { readonly sessionId: string }[]
  }
  const child = admin.session(sessions[0]?.sessionId ?? '').requests
  const {
    requests: [request],
  } = await child.list()
  expect(request).toMatchObject({ purpose: 'answer', messageCount: 1 })
  expect(JSON.stringify((await child.get(request?.id ?? '')).prompt)).toContain('go')
  const without = await bench()
  await expect(createAdmin({ baseUrl: without.url }).session('mine').requests.list()).rejects.toMatchObject({ code: 'route-not-found' })
})
