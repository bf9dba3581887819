import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface ServerFigures {
  /** CPU time of all its threads since it started. */
  readonly cpuMs: number
  readonly rssBytes: number
  /** Size of heap and external memory after a collection. */
  readonly heldBytes: number
}

export interface ServerProcess {
  readonly url: string
  figures(): Promise<ServerFigures>
}

/**
 * Starts a server in its own process, so that the load generator is not measured. `SERVER_ARGS` are passed to its Node, for example
 * `--cpu-prof`.
 */
export async function withServer<T>(file: string | undefined, work: (server: ServerProcess) => Promise<T>): Promise<T> {
  const args = file === undefined ? [] : [file]
  const child = fork(join(import.meta.dirname, 'server-child.ts'), args, {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning', ...(process.env['SERVER_ARGS']?.split(' ') ?? [])],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const ended = once(child, 'exit')
  const answer = async (): Promise<unknown> => {
    const [message] = (await Promise.race([once(child, 'message'), ended])) as unknown[]
    if (typeof message !== 'object') throw new Error('The server ended')
    return message
  }
  try {
    const { url } = (await answer()) as { readonly url: string }
    return await work({
      url,
      async figures() {
        const figures = answer()
        child.send('figures')
        return (await figures) as ServerFigures
      },
    })
  } finally {
    if (child.connected) child.disconnect()
    await ended
  }
}
