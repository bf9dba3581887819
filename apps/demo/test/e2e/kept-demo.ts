import { keepServer } from '../../src/supervisor/keep-server.ts'
import { keepServers } from '../../src/supervisor/keep-servers.ts'
import { cleanEnv, makeDataFolder, removeDataFolder } from '../demo-process.ts'
import type { DemoEnv } from '../demo-process.ts'

export interface KeptDemo {
  readonly url: string
  readonly dataFolder: string
  /** Returns how many processes became ready after an earlier one had ended. */
  returns(): number
  /** Sets the environment of processes that start from now on. */
  setEnv(change: DemoEnv): void
  /** Ends the server and removes its data. */
  stop(): Promise<void>
}

export interface KeptDemoParts {
  readonly pageFolder: string
  /** Node options that load the packages as bundles: a server that is killed often is also started often. */
  readonly nodeOptions: string
  /** Fills the data folder before the server starts. */
  readonly prepare?: (dataFolder: string) => Promise<void>
}

/** Keeps the server of `npm start` alive, or its two servers on Postgres, with the same code, their own data and no delays. */
export async function keepDemo({ pageFolder, nodeOptions, prepare }: KeptDemoParts, change: DemoEnv = {}): Promise<KeptDemo> {
  const dataFolder = await makeDataFolder()
  await prepare?.(dataFolder)
  const env: Record<string, string | undefined> = {
    ...process.env,
    ...cleanEnv,
    DEMO_DATA: dataFolder,
    DEMO_PAGE: pageFolder,
    NODE_OPTIONS: nodeOptions,
    DEMO_PORT: '0',
    DEMO_SPEED: '0',
    ...change,
  }
  const ready = Promise.withResolvers<string>()
  const onGone = (): void => undefined
  const isGroup = env['DEMO_STORE']?.startsWith('postgres') === true
  // The first start of a single process does not count.
  let returns = isGroup ? 0 : -1
  const onBack = (): void => void returns++
  const server = isGroup
    ? await keepServers({ env, port: 0, names: ['A', 'B'], onAllReady: ready.resolve, onBack, onGone })
    : keepServer({
        env,
        onGone,
        onReady({ url }) {
          ready.resolve(url)
          onBack()
        },
      })
  void server.ended.then((end) => ready.reject(new Error(`The demo has ended: ${JSON.stringify(end)}`)))
  return {
    url: await ready.promise,
    dataFolder,
    returns: () => returns,
    setEnv: (next) => void Object.assign(env, next),
    async stop() {
      server.stop()
      await server.ended
      await removeDataFolder(dataFolder)
    },
  }
}
