import { afterAll, beforeAll } from 'vitest'
import { findRestate } from './restate/find-restate.ts'
import { startRestate } from './restate/start-restate.ts'
import type { RestateServer, RestateSettings } from './restate/start-restate.ts'

export { freePort } from './free-port.ts'
export { startBalancer, type Balancer } from './restate/start-balancer.ts'
export type { RestateServer } from './restate/start-restate.ts'

/** In CI a missing server throws here, so that the job fails. */
const binary = findRestate()

/** True if there is no server to start: tests that need one are skipped. */
export const isRestateMissing = binary === undefined

/** Returns the title of a test or suite. If it is skipped, the title says why. */
export function titleWithRestate(name: string): string {
  return isRestateMissing ? `${name} (skipped: there is no Restate server for this system; name one in RESTATE_SERVER)` : name
}

/** Returns a server that is started before the tests of this file and stopped after them. Throws outside hooks and tests. */
export function sharedRestate(settings: RestateSettings = {}): () => RestateServer {
  let server: RestateServer | undefined
  if (binary !== undefined) {
    beforeAll(async () => void (server = await startRestate(binary, undefined, settings)))
    afterAll(() => server?.stop())
  }
  return () => {
    if (!server) throw new TypeError('The Restate server is there in hooks and tests only.')
    return server
  }
}
