import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { sessionsAt } from '../src/index.ts'

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

it('S208: an address that is not Restate is named', async () => {
  const url = await answering((_request, response) => void response.end('<!doctype html>'))
  await expect(sessionsAt({ url }).session('room:1').info()).rejects.toMatchObject({
    code: 'invalid-config',
    message: `The answer of ${url} is no JSON: is it the ingress of Restate?`,
  })
})
