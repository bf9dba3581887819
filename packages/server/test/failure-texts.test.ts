import { defineTool } from '@bowline/agent-loop'
import { APICallError } from 'ai'
import { expect, it } from 'vitest'
import { bench, say } from './support/bench.ts'
import { allFrames } from './support/frames.ts'

const secrets = ['sk-abcdefghijklmnopqrstuvwx', 'hunter2hunter2', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl']
const text = `refused for api_key=${secrets[0]} at postgres://admin:${secrets[1]}@db.local/x with Bearer ${secrets[2]}`

function failing(how: () => unknown) {
  return defineTool({ name: 'pay', description: 'Pays.', inputSchema: { type: 'object' }, effect: 'pure', execute: how as () => string })
}

const thrown: Readonly<Record<string, () => unknown>> = {
  'an error that a tool throws': () => {
    throw new Error(text)
  },
  'a text that a tool throws': () => {
    throw text as unknown as Error
  },
  'a promise that a tool rejects': () => Promise.reject(new TypeError(text)),
}

it.each(Object.keys(thrown))('V90: %s reaches no stream, view, chat, export or model with its secrets', async (name) => {
  const steps = [{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }] }, { text: 'done' }]
  const { execute, get, model } = await bench({ steps, tools: [failing(thrown[name]!)] })
  const frames = await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} }))
  const rest = await Promise.all(
    ['', '/events?from=start&until=settled&cursor=0', '/export?events=true'].map(async (path) =>
      (await get(`/api/agent/session/mine${path}`)).text(),
    ),
  )
  const seen = JSON.stringify([frames, rest, model.calls.map(({ prompt }) => prompt)])
  expect(seen).toContain('refused for')
  for (const secret of secrets) expect(seen).not.toContain(secret)
})

it('V90: neither does an error of a provider', async () => {
  const error = new APICallError({ message: text, url: 'https://api.test', requestBodyValues: {}, statusCode: 401, responseBody: text })
  const { execute } = await bench({ steps: [{ error }] })
  const seen = JSON.stringify(await allFrames(await execute({ sessionId: 'mine', input: say('go'), context: {} })))
  expect(seen).toContain('refused for')
  for (const secret of secrets) expect(seen).not.toContain(secret)
})
