import type { Runtime } from '@bowline/sessions'
import { missingFor } from '../config/config-error.ts'
import type { SettingValues } from '../config/settings.ts'
import { faultOf } from '../http/fault.ts'
import type { Logger } from '../options.ts'

/** The engine that places the sessions of a server. */
export interface Engine {
  /** Begins to take work from the engine. Rejects if the address for it is in use. */
  listen(): Promise<void>
  close(): Promise<void>
}

/** Lets Restate place the sessions of a runtime, if the configuration says so. Loads the package only then. */
export async function engineOf(values: SettingValues, runtime: Runtime, logger: Logger): Promise<Engine | undefined> {
  if (values.placement === 'own') return undefined
  const install = '@bowline/restate @restatedev/restate-sdk'
  const { sessionsOn } = await import('@bowline/restate').catch(missingFor('placement', '@bowline/restate', install))
  const sessions = sessionsOn(runtime, {
    url: values['restate.url'],
    name: values['restate.name'],
    turnMs: values['restate.turnMs'],
    frozenAfterMs: values['restate.frozenAfterMs'],
  })
  let close = (): Promise<void> => Promise.resolve()
  return {
    async listen() {
      const address = { host: values['restate.host'], port: values['restate.port'] }
      const listening = await sessions.listen({ ...address, onWarning: (message) => logger.warn({}, message) })
      close = () => listening.close()
      logger.info({ url: listening.url, name: values['restate.name'] }, 'listening for Restate')
      // It may start after this server.
      await sessions.check().catch((error: unknown) => logger.warn(faultOf(error), 'Restate is away: sessions wait until it is back'))
    },
    close: () => close(),
  }
}
