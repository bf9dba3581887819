import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { getRequestListener, RequestError, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks, limit, longestTimerMs, methods, optionalName, required, whole } from '../arguments.ts'
import type { CloseOptions, Server } from '../create-server.ts'
import { isLoopbackHost } from '../http/access.ts'
import type { SocketLimits } from '../limits.ts'
import { ServerError } from '../server-error.ts'
import { listen, stopListening } from './listen.ts'
import { closeOnSignals } from './signals.ts'
import { writeStream } from './write-stream.ts'

/** Address, signals and socket limits. A limit given here overrides the server's. */
export interface ServeOptions extends SocketLimits {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 8787; 0 takes a free one. */
  readonly port?: number
  /** SIGTERM and SIGINT close the server and end the process with 0; a second one ends it at once with 130. */
  readonly signals?: boolean
  /** How long open streams may finish when a signal ends the process. Default 25,000. */
  readonly drainMs?: number
}

/** A listening server with its address. */
export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Closes the server, then stops listening. Resolves when no connection is left. */
  close(options?: CloseOptions): Promise<void>
}

const maxCheckMs = 1000

/** The most that Node takes. */
const maxHeaderBytes = 2 ** 31 - 1

const maxPort = 65_535

const optionChecks: FieldChecks<ServeOptions> = {
  ...{ host: optionalName, port: whole(0, maxPort), signals: configChecks.checkBoolean, drainMs: whole(0) },
  ...{ headerBytes: limit, headersTimeoutMs: limit, bodyTimeoutMs: limit, slowReaderMs: limit },
}

/** For Node 0 is no limit. */
function nodeTimeout(ms: number): number {
  return ms === Infinity ? 0 : ms
}

/**
 * Listens on a port (default 127.0.0.1:8787). Rejects if the address is in use, and with `invalid-config` if a server without
 * authentication would be reachable from outside.
 */
export async function serve(server: Server, options: ServeOptions = {}): Promise<RunningServer> {
  required(methods('fetch', 'close'))('server', server)
  configChecks.checkFields('options', options, optionChecks)
  const { host = '127.0.0.1', port = 8787, drainMs } = options
  if (server.loopbackOnly && !isLoopbackHost(host)) {
    throw new ServerError('invalid-config', `auth is 'none': options.host ${host} would let everybody in. Use 127.0.0.1, or configure auth.`)
  }
  const own = server.socketLimits
  const { headerBytes = own.headerBytes, bodyTimeoutMs = own.bodyTimeoutMs, slowReaderMs = own.slowReaderMs } = options
  // The headers are a part of the request.
  const headersTimeoutMs = Math.min(options.headersTimeoutMs ?? own.headersTimeoutMs, bodyTimeoutMs)
  const onRequest = listener(server)
  const http = createHttpServer(
    {
      maxHeaderSize: Math.min(headerBytes, maxHeaderBytes),
      headersTimeout: nodeTimeout(headersTimeoutMs),
      requestTimeout: nodeTimeout(bodyTimeoutMs),
      // By default Node looks twice a minute, and lets the slow ones live until then.
      connectionsCheckingInterval: Math.min(maxCheckMs, headersTimeoutMs),
    },
    (incoming, outgoing) => {
      cutSlowReader(outgoing, slowReaderMs)
      void onRequest(incoming, outgoing)
    },
  )
  const address = await listen(http, host, port)
  let closing: Promise<void> | undefined
  const closeAll = async (closeOptions: CloseOptions | undefined): Promise<void> => {
    try {
      await server.close(closeOptions)
    } finally {
      await stopListening(http)
    }
  }
  const running: RunningServer = {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    port: address.port,
    close(closeOptions) {
      return (closing ??= closeAll(closeOptions))
    },
  }
  if (options.signals) closeOnSignals(() => running.close(drainMs === undefined ? {} : { drainMs }))
  return running
}

function listener(server: Server): ReturnType<typeof getRequestListener> {
  return getRequestListener(
    async (request, env) => {
      const { incoming, outgoing } = env as HttpBindings
      const { remoteAddress, localAddress } = incoming.socket
      const response = await server.fetch(request, {
        ...(remoteAddress !== undefined && { remoteAddress }),
        ...(localAddress !== undefined && { localAddress }),
      })
      if (!response.body || !isStream(response)) return response
      // It has times of its own.
      outgoing.setTimeout(0)
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      void writeStream(response.body, outgoing)
      return RESPONSE_ALREADY_SENT
    },
    {
      overrideGlobalObjects: false,
      errorHandler(error) {
        if (!(error instanceof RequestError)) throw error
        // A request whose target cannot be read names no host of ours.
        return server.fetch(new Request('http://unreadable.invalid/'))
      },
    },
  )
}

/** The system knows whether anything was taken: its time begins again with every byte. Who waits for an answer is not slow. */
function cutSlowReader(outgoing: ServerResponse, slowReaderMs: number): void {
  outgoing.setTimeout(Math.min(slowReaderMs, longestTimerMs), () => {
    if (outgoing.writableLength > 0) outgoing.destroy()
  })
}

/** Made while it is read; all else is there as a whole. */
function isStream(response: Response): boolean {
  return /^(text\/event-stream|application\/x-ndjson)/.test(response.headers.get('content-type') ?? '')
}
