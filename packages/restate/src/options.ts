import { SessionError, type Runtime } from '@bowline/sessions'
import { configChecks, sessionsVersionCheck } from '@bowline/sessions/internal'

/** Longest time that Restate and Node's timers can wait, in ms. */
const longestMs = 2 ** 31 - 1

/** Address of Restate and name of the object that holds the sessions. */
export interface RestateOptions {
  /** URL of Restate's ingress. Default `http://127.0.0.1:8080`. */
  readonly url?: string
  /** Name of the virtual object. Different deployments of one program share it. Default `sessions`. */
  readonly name?: string
  /** Further headers of each request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Options of a worker. */
export interface RestateSessionsOptions extends RestateOptions {
  /** Time in milliseconds after which a run yields at its next boundary and another invocation goes on. Default 50,000. */
  readonly turnMs?: number
  /**
   * Time in milliseconds without a sign of life after which Restate gives up a worker and asks another one. Default 30,000. A worker
   * shows that it is alive four times in that time.
   */
  readonly frozenAfterMs?: number
}

/** Address on which a worker listens for Restate. */
export interface ListenOptions {
  /** Default 127.0.0.1. Without `identityKeys` only Restate may be able to reach it. */
  readonly host?: string
  /** Default 9080; 0 selects a free port. */
  readonly port?: number
  /** Public keys of Restate. Requests without a signature of one of them are refused. Default: requests need no signature. */
  readonly identityKeys?: readonly string[]
  /** Receives warnings and errors of Restate's SDK. Default: `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
}

const isPublicKey = (value: unknown): boolean => typeof value === 'string' && value.startsWith('publickeyv1_')
const nameForm = /^[A-Za-z][A-Za-z0-9_.-]{0,62}$/

const places = {
  url: (path: string, value: unknown): void => {
    const isUrl = (given: unknown): boolean => typeof given === 'string' && /^https?:\/\/[^?#]+$/.test(given) && URL.canParse(given)
    if (value !== undefined) configChecks.checkRequired(path, value, 'a URL with http or https, without query', isUrl)
  },
  name: (path: string, value: unknown): void => {
    const isName = (given: unknown): boolean => typeof given === 'string' && nameForm.test(given)
    if (value !== undefined)
      configChecks.checkRequired(path, value, 'a name of letters, digits and _ . -, which begins with a letter', isName)
  },
  headers: configChecks.valuesOf(configChecks.checkName),
}

const runtimeMethods = configChecks.requiredMethods('work', 'onWake')
const runtimeVersion = sessionsVersionCheck((message) => new SessionError('invalid-config', message))

/** Requires a runtime of this version of sessions whose placement is a host. */
export function checkRuntime(path: string, value: unknown): void {
  runtimeMethods(path, value)
  runtimeVersion(path, value)
  configChecks.checkRequired(`${path}.placement`, (value as Runtime).placement, "'host'", (placement) => placement === 'host')
}

export const checkRestateOptions = configChecks.optionalRecord<RestateOptions>(places)

export const checkSessionsOptions = configChecks.optionalRecord<RestateSessionsOptions>({
  ...places,
  turnMs: configChecks.whole(1, longestMs),
  frozenAfterMs: configChecks.whole(100, longestMs),
})

export const checkListenOptions = configChecks.optionalRecord<ListenOptions>({
  host: configChecks.optionalName,
  port: configChecks.whole(0, 65_535),
  identityKeys: configChecks.listOf((path, value) =>
    configChecks.checkRequired(path, value, 'a key that begins with publickeyv1_', isPublicKey),
  ),
  onWarning: configChecks.checkFunction,
})
