import { definedFields } from '@bowline/llm/arguments'
import type { Runtime } from '@bowline/sessions'
import { sessionsObject } from './handlers.ts'
import { Ingress } from './ingress.ts'
import { listenFor, type Listening } from './listen.ts'
import { checkListenOptions, checkRestateOptions, checkRuntime, checkSessionsOptions } from './options.ts'
import type { ListenOptions, RestateOptions, RestateSessionsOptions } from './options.ts'
import { remoteSessions, type RemoteSessions } from './remote-sessions.ts'

/** Sessions of a runtime that Restate places. */
export interface HostedSessions {
  /** Virtual object to serve, one key a session: `serve({ services: [sessions.object] })` of Restate's SDK. */
  readonly object: ReturnType<typeof sessionsObject>
  /** Serves the object from this process, like `serve` of Restate's SDK. Rejects if the address is in use. */
  listen(options?: ListenOptions): Promise<Listening>
  /** Rejects with `store-unavailable` if Restate does not answer. */
  check(): Promise<void>
  /** Returns a client for processes that have neither a store nor agents. Default: of this Restate. Throws `invalid-config`. */
  client(options?: RestateOptions): RemoteSessions
}

/**
 * Lets Restate decide which worker works on which session of a runtime. The runtime must have the placement `host` and must not be
 * started yet; its store must be one for many processes. Throws `invalid-config`.
 */
export function sessionsOn(runtime: Runtime, options: RestateSessionsOptions = {}): HostedSessions {
  checkSessionsOptions('sessionsOn.options', options)
  const { turnMs = 50_000, frozenAfterMs = 30_000, name = 'sessions', ...place } = options
  checkRuntime('runtime', runtime)
  const ingress = new Ingress({ ...place, name })
  runtime.onWake(async ({ key, atMs }) => {
    if (key !== undefined) await ingress.wake(key, atMs - Date.now())
  })
  const object = sessionsObject(runtime, { name, turnMs, frozenAfterMs })
  return {
    object,
    async listen(given = {}) {
      checkListenOptions('listen.options', given)
      return listenFor(object, given)
    },
    check: () => ingress.check(),
    client(given = {}) {
      checkRestateOptions('client.options', given)
      return sessionsAt({ ...place, name, ...definedFields(given) })
    },
  }
}

/** Returns sessions on Restate, for processes that have neither a store nor agents. Does no I/O. Throws `invalid-config`. */
export function sessionsAt(options: RestateOptions = {}): RemoteSessions {
  checkRestateOptions('sessionsAt.options', options)
  return remoteSessions(new Ingress(options))
}
