import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './bench.ts'

export interface FileServer {
  readonly port: number
  /** Paths that were asked for, with the host that was named. */
  readonly asked: readonly string[]
}

/** A real server on an address of loopback. It ends with the test. */
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

/** For one name, signed by itself. */
export function certificateFor(name: string): Certificate {
  const folder = temporaryFolder()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}
