import { setTimeout } from 'node:timers/promises'
import { startBalancer } from '../../../../scripts/restate/start-balancer.ts'
import { startRestate, type RestateServer } from '../../../../scripts/restate/start-restate.ts'
import { openDataFolder } from '../server/open-data-folder.ts'
import { SettingsError } from '../server/settings.ts'
import type { ServerEnd } from './keep-server.ts'
import { keepServers } from './keep-servers.ts'
import type { KeepServersOptions } from './keep-servers.ts'

/**
 * Keeps server processes whose sessions a Restate server places. Restate is started before them and ends after them, and starts again
 * when it dies. It reaches all of them at one address, and each new connection goes to one that listens. Rejects like `keepServers`,
 * and with `SettingsError` if Restate does not start.
 */
export async function keepOnRestate(options: KeepServersOptions, program: string): ReturnType<typeof keepServers> {
  const { env, onGone } = options
  const restate = await startRestate(program, await openDataFolder(env)).catch((error: unknown) => {
    throw new SettingsError(`The Restate server ${program} does not start. Name another one in RESTATE_SERVER. (${String(error)})`)
  })
  const balancer = await startBalancer()
  const kept = keepRunning(restate)
  const close = async (): Promise<void> => {
    await balancer.close()
    await kept.stop()
  }
  const ports = new Map<string, number>()
  let registering: Promise<void> | undefined
  let fault: ServerEnd | undefined
  try {
    const servers = await keepServers({
      ...options,
      env: { ...env, DEMO_RESTATE: restate.url },
      register(name, workerUrl) {
        ports.set(name, Number(new URL(workerUrl).port))
        balancer.use(...ports.values())
        return (registering ??= restate.register(balancer.url).catch((error: unknown) => {
          fault = { type: 'refused', reason: 'restate', message: String(error) }
          servers.stop()
        }))
      },
      onGone(name, ...why) {
        ports.delete(name)
        balancer.use(...ports.values())
        onGone(name, ...why)
      },
    })
    console.log(`Restate is process ${restate.pid}.`)
    void kept.failed.then((reason) => {
      fault = { type: 'failing', exit: reason }
      servers.stop()
    })
    const ended = servers.ended.then(async (end) => {
      await close()
      return fault ?? end
    })
    return { ended, stop: servers.stop }
  } catch (error) {
    await close()
    throw error
  }
}

const restartMs = 200
const mostDeaths = 5
/** A server that lived for so long has started well. */
const wellMs = 10_000

/** Starts the server again when it dies. `failed` resolves with the reason if it cannot be kept; after `stop` it does not resolve. */
function keepRunning(restate: RestateServer): { readonly failed: Promise<string>; stop(): Promise<void> } {
  const { promise: failed, resolve: fail } = Promise.withResolvers<string>()
  const stopping = new AbortController()
  let starting: Promise<void> | undefined
  async function keep(): Promise<void> {
    for (let [deaths, since] = [0, Date.now()]; await restate.died(); since = Date.now()) {
      deaths = Date.now() - since < wellMs ? deaths + 1 : 1
      if (deaths > mostDeaths) return fail(`Restate ended ${deaths} times`)
      console.log(`Restate ended. It starts again in ${restartMs} ms.`)
      await setTimeout(restartMs, undefined, { signal: stopping.signal })
      await (starting = restate.start())
      console.log(`Restate is back as process ${restate.pid}.`)
    }
  }
  const over = keep().catch((error: unknown) => {
    if (!stopping.signal.aborted) fail(`Restate does not start again: ${String(error)}`)
  })
  return {
    failed,
    async stop() {
      stopping.abort()
      // What is just starting can be ended after that.
      await starting?.catch(() => undefined)
      await restate.stop()
      await over
    },
  }
}
