import type { ServerProcess } from '../server/process-messages.ts'
import { openFront } from './front.ts'
import { keepServer } from './keep-server.ts'
import type { KeepServerOptions, KeptServer, ReadyServer, ServerEnd } from './keep-server.ts'

export interface KeepServersOptions {
  readonly env: KeepServerOptions['env']
  readonly names: readonly string[]
  /** Port of the page, served by any of the processes. */
  readonly port: number
  /** Called when all of them are up for the first time. */
  readonly onAllReady: (url: string) => void
  /** Called when one of them is up again. */
  readonly onBack: (name: string) => void
  readonly onGone: (name: string, exit: string, restartInMs: number) => void
  /** Makes Restate call the process of this name at this URL. Must not reject. */
  readonly register?: (name: string, workerUrl: string) => Promise<void>
}

/**
 * Keeps one server process per name, and tells all of them which ones are up. A proxy sends each request to one that is up. If one
 * of them cannot be kept, all are stopped. Rejects with `EADDRINUSE` if the port is taken.
 */
export async function keepServers(options: KeepServersOptions): Promise<Omit<KeptServer, 'tell'>> {
  const { env, names, port, onAllReady, onBack, onGone, register } = options
  const up = new Map<string, ReadyServer>()
  const front = await openFront({ port, urls: () => [...up.values()].map(({ url }) => url) })
  const missing = new Set(names)
  const servers = names.map((name) =>
    keepServer({
      env,
      name,
      port: front.port,
      ...(register && { register: (workerUrl) => register(name, workerUrl) }),
      onReady(server) {
        up.set(name, server)
        tellAll()
        if (!missing.delete(name)) onBack(name)
        else if (missing.size === 0) onAllReady(`http://127.0.0.1:${front.port}`)
      },
      onGone(exit, restartInMs) {
        up.delete(name)
        tellAll()
        onGone(name, exit, restartInMs)
      },
    }),
  )
  const tellAll = (): void => {
    const processes = names.map((name): ServerProcess => ({ name, ...upOf(up.get(name)) }))
    for (const server of servers) server.tell({ type: 'processes', processes })
  }
  const stop = (): void => servers.forEach((server) => server.stop())
  return { ended: endOf(servers, stop).finally(() => front.close()), stop }
}

/** Returns the end of the first one. Resolves when all have ended. */
async function endOf(servers: readonly KeptServer[], stop: () => void): Promise<ServerEnd> {
  const ends = servers.map(({ ended }) => ended)
  const first = await Promise.race(ends)
  stop()
  await Promise.all(ends)
  return first
}

function upOf(server: ReadyServer | undefined): Pick<ServerProcess, 'up'> {
  return server ? { up: { pid: server.pid, runtimeId: server.runtimeId } } : {}
}
