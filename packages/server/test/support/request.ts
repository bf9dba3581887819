import type { Server } from '@bowline/server'

const loopback = { remoteAddress: '127.0.0.1', localAddress: '127.0.0.1' } as const

/** Sends a request that no HTTP client would send: with any Host, peer or header. */
export function ask(
  server: Server,
  path: string,
  { method = 'GET', host = '127.0.0.1:8787', headers = {}, body, peer = loopback }: AskOptions = {},
): Promise<Response> {
  const request = new Request(`http://${host}${path}`, { method, headers: { host, ...headers }, ...(body !== undefined && { body }) })
  return server.fetch(request, peer ?? undefined)
}

export interface AskOptions {
  readonly method?: string
  readonly host?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly peer?: { readonly remoteAddress?: string; readonly localAddress?: string } | null
}
