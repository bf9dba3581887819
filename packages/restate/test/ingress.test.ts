import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { sessionsAt, sessionsOn } from '../src/index.ts'

/** Starts a server in place of Restate. */
async function answering(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('S40: an answer that breaks off is asked for again, under the same idempotency key', async () => {
  const requests: IncomingMessage[] = []
  const url = await answering((request, response) => {
    requests.push(request)
    if (requests.length > 1) return void response.end('{"runId":"run_1","accepted":"queued"}')
    response.writeHead(200, { 'content-length': '100' })
    response.write('{"runId":', () => response.destroy())
  })
  expect(await sessionsAt({ url }).session('room:1').send('go')).toMatchObject({ runId: 'run_1', accepted: 'queued' })
  expect(requests).toHaveLength(2)
  expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
})

it('S40: a Restate that has just started and knows no object yet is asked again', async () => {
  let asked = 0
  const url = await answering((_request, response) => {
    asked += 1
    if (asked === 1) return void response.writeHead(404).end('{"message":"service \'sessions\' not found"}')
    response.end('{"runId":"run_1","accepted":"queued"}')
  })
  expect(await sessionsAt({ url }).session('room:1').send('go')).toMatchObject({ runId: 'run_1', accepted: 'queued' })
  expect(asked).toBe(2)
})

it('S208: an address that is not Restate is named', async () => {
  const url = await answering((_request, response) => void response.end('<!doctype html>'))
  await expect(sessionsAt({ url }).session('room:1').info()).rejects.toMatchObject({
    code: 'invalid-config',
    message: `The answer of ${url} is no JSON: is it the ingress of Restate?`,
  })
})

it('S12: inputs to an object without a worker are stored, and onError says once what to do', async () => {
  let isRegistered = false
  const wakes: string[] = []
  const url = await answering(({ url: path = '' }, response) => {
    wakes.push(path)
    if (isRegistered) return void response.writeHead(202).end('{}')
    response.writeHead(404).end('{"message":"service \'agents\' not found, make sure to register the service before calling it."}')
  })
  const faults: unknown[] = []
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })],
    store: memoryStore(),
    placement: 'host',
    timers: false,
    onError: (error, { session }) => void faults.push({ error, session }),
  })
  sessionsOn(runtime, { url, name: 'agents' })
  const unknown = {
    code: 'invalid-config',
    message: expect.stringMatching(
      /knows no handler agents\/work: register a worker of this object.*restate deployments register/s,
    ) as string,
  }
  for (const key of ['room:1', 'room:2']) expect(await runtime.session(key).send('go')).toMatchObject({ accepted: 'queued' })
  expect(faults.splice(0)).toMatchObject([{ session: 'room:1', error: unknown }])

  isRegistered = true
  wakes.length = 0
  await runtime.sweep()
  await expect.poll(() => wakes.toSorted()).toEqual(['/agents/room%3A1/work/send', '/agents/room%3A2/work/send'])
  expect(faults).toEqual([])

  isRegistered = false
  await runtime.session('room:3').send('go')
  expect(faults).toMatchObject([{ session: 'room:3', error: unknown }])
  await runtime.stop()
})
