import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import type { JSONObject } from '../../src/index.ts'
import { bodyProblems } from './body-rules.ts'
import { finish, text, textBodyOf, type WireName } from './raw-bodies.ts'

/**
 * A loopback server for one wire that checks the history of each request like the vendor. It refuses an invalid one with status 400
 * and the reason, and answers all others with `ok`.
 */
export function useStrictServer(wire: WireName): { readonly url: string } {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const problems = bodyProblems(wire, JSON.parse(Buffer.concat(chunks).toString()) as JSONObject)
      const headers = { connection: 'close' }
      if (problems.length > 0) {
        const error = { message: problems.join('; '), type: 'invalid_request_error' }
        response.writeHead(400, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      } else {
        const body = textBodyOf(wire, text('ok'), finish()).join('')
        response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' }).end(body)
      }
    })
  })
  beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
  afterAll(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  return {
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
  }
}
