import type { Auth } from '../auth/auth.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Server } from '../create-server.ts'
import { faultOf } from '../http/fault.ts'
import type { Logger } from '../options.ts'
import { ServerError } from '../server-error.ts'

/** Reads the authentication. `version` counts from 1. Throws if the configuration is invalid. */
export type ReadAuth = (version: number) => Promise<Auth>

/**
 * Reads the authentication again on SIGHUP, one signal after the other. An invalid configuration is logged and changes nothing. All
 * other settings are only read at the next start.
 */
export function reloadOnHangup(server: Pick<Server, 'reload'>, read: ReadAuth, logger: Logger): void {
  let version = 0
  let last: Promise<void> = Promise.resolve()
  async function reload(): Promise<void> {
    try {
      version += 1
      await server.reload(await read(version))
      logger.info({}, 'auth was read again')
    } catch (error) {
      const isToldInWords = error instanceof ConfigError || ServerError.isInstance(error)
      logger.error(isToldInWords ? { faults: error.message } : faultOf(error), 'auth stays as it was: the configuration cannot be used')
    }
  }
  process.on('SIGHUP', () => void (last = last.then(reload)))
}
