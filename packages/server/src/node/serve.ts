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

/** Address, signals and socket limits. A limit given here overrides that of the server. */
export interface ServeOptions extends SocketLimits {
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string
  /** Port to listen on. Default 8787; 0 selects a free port. */
  readonly port?: number
  /** Lets SIGTERM and SIGINT close the server and exit with 0. A second signal exits at once with 130. */
  readonly signals?: boolean
  /** Time in milliseconds for open streams to finish after a signal. Default 25,000. */
  readonly drainMs?: number
}

/** A listening server with its address. */
export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Closes the server and stops listening. Resolves when no connection is left. */
  close(options?: CloseOptions): Promise<void>
}

const maxCheckMs = 1000

/** Maximum that Node accepts. */
const maxHeaderBytes = 2 ** 31 - 1

const maxPort = 65_535

const optionChecks: FieldChecks<ServeOptions> = {
  host: optionalName,
  port: whole(0, maxPort),
  signals: configChecks.checkBoolean,
  drainMs: whole(0),
  headerBytes: limit,
  headersTimeoutMs: limit,
  bodyTimeoutMs: limit,
  slowReaderMs: limit,
}

/** Returns a timeout for Node, where 0 means no limit. */
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
    throw new ServerError(
      'invalid-config',
      `options.host must be a loopback address such as 127.0.0.1, because auth is 'none'; received ${host}. Or configure auth.`,
    )
  }
  const own = server.socketLimits
  const { headerBytes = own.headerBytes, bodyTimeoutMs = own.bodyTimeoutMs, slowReaderMs = own.slowReaderMs } = options
  // The time for the headers is part of the time for the request.
  const headersTimeoutMs = Math.min(options.headersTimeoutMs ?? own.headersTimeoutMs, bodyTimeoutMs)
  const onRequest = listener(server)
  const http = createHttpServer(
    {
      maxHeaderSize: Math.min(headerBytes, maxHeaderBytes),
      headersTimeout: nodeTimeout(headersTimeoutMs),
      requestTimeout: nodeTimeout(bodyTimeoutMs),
      // By default Node checks twice a minute, and slow connections live until then.
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
      // A stream has its own timeouts.
      outgoing.setTimeout(0)
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      void writeStream(response.body, outgoing)
      return RESPONSE_ALREADY_SENT
    },
    {
      overrideGlobalObjects: false,
      errorHandler(error) {
        if (!(error instanceof RequestError)) throw error
        // Answers a request whose target cannot be parsed as a request for an unknown host.
        return server.fetch(new Request('http://unreadable.invalid/'))
      },
    },
  )
}

/**
 * Disconnects slow readers. The socket restarts its timeout with every byte it sends. A client that waits for an answer is not
 * slow.
 */
function cutSlowReader(outgoing: ServerResponse, slowReaderMs: number): void {
  outgoing.setTimeout(Math.min(slowReaderMs, longestTimerMs), () => {
    if (outgoing.writableLength > 0) outgoing.destroy()
  })
}

/** Returns true if the body is produced while it is read. All other bodies are complete. */
function isStream(response: Response): boolean {
  return /^(text\/event-stream|application\/x-ndjson)/.test(response.headers.get('content-type') ?? '')
}
