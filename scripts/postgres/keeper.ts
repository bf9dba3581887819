// node scripts/postgres/keeper.ts <options as JSON>: runs a Postgres server until its standard input closes. Prints the address as
// one line. If its parent dies in any way, the server ends and its folder is removed.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createCluster, createClusterFolder, removeClusterFolder, startServer } from './cluster.ts'
import type { ClusterOptions, StartedServer } from './cluster.ts'
import { removeLeftClusters } from './left-clusters.ts'

/** Command on standard input, one per line. `end`: the server ends at once, as after a loss of power. */
export type KeeperOrder = 'end' | 'start'

export type KeeperOptions = Omit<ClusterOptions, 'folder'> & { readonly root: string }

if (import.meta.main) await keep(JSON.parse(process.argv[2] ?? '{}') as KeeperOptions)

async function keep({ root, ...options }: KeeperOptions): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.stdin.destroy())
  removeLeftClusters(root)
  const folder = createClusterFolder(root, String(process.pid))
  try {
    await serve({ ...options, folder })
  } finally {
    removeClusterFolder(root, folder)
  }
}

async function serve(cluster: ClusterOptions): Promise<void> {
  createCluster(cluster)
  let { server, address } = await startServer(cluster)
  try {
    console.log(JSON.stringify(address))
    for await (const order of createInterface({ input: process.stdin })) {
      if (order === ('end' satisfies KeeperOrder)) await endServer(server)
      else if (order === ('start' satisfies KeeperOrder)) ({ server, address } = await startServer(cluster, address.port))
      else throw new TypeError(`The keeper does not know the order ${order}.`)
      console.log(JSON.stringify(address))
    }
  } finally {
    await endServer(server)
  }
}

/** Ends the server without a clean shutdown: its data is not needed any more, or a loss of power is simulated. */
async function endServer(server: StartedServer['server']): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGQUIT')
  await ended
}
