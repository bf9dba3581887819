import { once } from 'node:events'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'

export interface FileServer {
  readonly port: number
  /** Requested paths, with the requested host. */
  readonly asked: readonly string[]
}

/** Starts a real server on a loopback address. It ends with the test. */
export async function fileServer(
  address: string,
  answer: RequestListener,
  { port = 0, tls }: { readonly port?: number; readonly tls?: Certificate } = {},
): Promise<FileServer> {
  const asked: string[] = []
  const listener: RequestListener = (request, response) => {
    asked.push(`${request.headers.host?.split(':')[0]}${request.url}`)
    answer(request, response)
  }
  const server = tls ? createHttps(tls, listener) : createHttp(listener)
  server.listen(port, address)
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { port: (server.address() as AddressInfo).port, asked }
}

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** Creates a self-signed certificate for one name. */
export async function certificateFor(name: string): Promise<Certificate> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  })
  return { key, cert }
}
