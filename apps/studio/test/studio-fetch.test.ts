import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createStudioFetch } from '../src/studio-fetch.ts'

async function listening(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const port = 8788
const studioBefore = (server: string) => createStudioFetch({ server, token: 'secret', port, pageFolder: import.meta.dirname })
const ask = (studio: ReturnType<typeof createStudioFetch>, path: string, init?: RequestInit) =>
  studio(new Request(`http://127.0.0.1:${port}${path}`, init))

it.each([301, 302, 303, 307, 308])('D57: follows no redirect (%i), so no other server gets the token or the request', async (status) => {
  const reached: string[] = []
  const other = await listening((request, response) => {
    reached.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.end('{}')
  })
  const asked: (string | undefined)[] = []
  const server = await listening((request, response) => {
    asked.push(request.headers.authorization)
    response.writeHead(status, { location: `${other}${request.url}` }).end()
  })
  const studio = studioBefore(server)
  for (const init of [{}, { method: 'POST', body: '{"input":"hi"}', headers: { 'content-type': 'application/json' } }]) {
    const response = await ask(studio, '/api/agent/execute', init)
    expect(response.status).toBe(status)
  }
  expect(asked).toEqual(['Bearer secret', 'Bearer secret'])
  expect(reached).toEqual([])
})

it('D57: sends the server neither cookies nor the origin of the page, and uses paths below its address', async () => {
  const seen: object[] = []
  const server = await listening(({ url, headers: { cookie, origin, authorization } }, response) => {
    seen.push({ url, cookie, origin, authorization })
    response.end('{}')
  })
  const init = { headers: { cookie: 'own=1', origin: `http://127.0.0.1:${port}`, authorization: 'Bearer of-the-page' } }
  expect((await ask(studioBefore(`${server}/bowline/`), '/api/me?x=1', init)).status).toBe(200)
  expect(seen).toEqual([{ url: '/bowline/api/me?x=1', cookie: undefined, origin: undefined, authorization: 'Bearer secret' }])
})

it('D57: reports a server out of reach, so that the page tries again', async () => {
  const response = await ask(studioBefore('http://127.0.0.1:1'), '/api/me')
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'server-unreachable' }])
})
