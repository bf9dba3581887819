import { startBalancer } from '../../../../scripts/restate/start-balancer.ts'
import { startRestate } from '../../../../scripts/restate/start-restate.ts'
import { openDataFolder } from '../server/open-data-folder.ts'
import { SettingsError } from '../server/settings.ts'
import type { ServerEnd } from './keep-server.ts'
import { keepServers } from './keep-servers.ts'
import type { KeepServersOptions } from './keep-servers.ts'

/**
 * Keeps server processes whose sessions a Restate server places. Restate is started before them and ends after them. It reaches all
 * of them at one address, and each new connection goes to one that listens. Rejects like `keepServers`, and with `SettingsError` if
 * Restate does not start.
 */
export async function keepOnRestate(options: KeepServersOptions, program: string): ReturnType<typeof keepServers> {
  const { env, onGone } = options
  const restate = await startRestate(program, await openDataFolder(env)).catch((error: unknown) => {
    throw new SettingsError(`The Restate server ${program} does not start. Name another one in RESTATE_SERVER. (${String(error)})`)
  })
  const balancer = await startBalancer()
  const close = async (): Promise<void> => {
    await balancer.close()
    await restate.stop()
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
