import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks, isHeader } from './arguments.ts'
import { toolsCheck, type ClientTools } from './client-tool.ts'
import type { ConnectionOptions } from './http.ts'
import type { ReconnectOptions } from './patience.ts'

/** Server, credentials, tools and retry times of a client. */
export interface ClientOptions extends ConnectionOptions {
  /** Remote tools of every run. */
  readonly tools?: ClientTools
  /** Generates session ids and idempotency keys of letters and digits. It must never return the same id twice. */
  readonly ids?: () => string
}

/** Server, credentials and retry times of an admin client. */
export interface AdminOptions extends ConnectionOptions {
  /** Generates ids for schedules that have none. It must never return the same id twice. */
  readonly ids?: () => string
}

const { checkFunction, checkRequired, methods, optional, optionalRecord, record, whole } = configChecks
const baseUrlForm = /^(?:https?:\/\/[^/?#@\s]+)?(?:\/[^/?#\s][^?#\s]*)?\/?$/
/** Longest delay of a timer. A longer one fires at once. */
const longestMs = 2 ** 31 - 1

const duration = (least: number) => whole(least, longestMs)

const reconnectChecks: FieldChecks<ReconnectOptions> = {
  baseMs: duration(0),
  maxMs: duration(0),
  maxDownMs: duration(0),
  silenceMs: duration(1),
}

const connectionChecks: FieldChecks<ConnectionOptions> = {
  baseUrl: (path, value) => {
    checkRequired(
      path,
      value,
      'an http or https address without user, query and fragment',
      (given) => typeof given === 'string' && baseUrlForm.test(given),
    )
  },
  token: optional((path, value) => {
    const isToken = (given: unknown): boolean => typeof given === 'function' || isHeader(given)
    checkRequired(path, value, 'a text that is valid in a header, or a function that returns one', isToken)
  }),
  fetch: checkFunction,
  reconnect: optionalRecord(reconnectChecks),
  clock: methods('now', 'setTimer'),
  random: checkFunction,
}

/** Checks the options of a client. Throws `invalid-config`. */
export function checkClientOptions(options: unknown): void {
  const own: Pick<FieldChecks<ClientOptions>, 'tools' | 'ids'> = { tools: toolsCheck(configChecks), ids: checkFunction }
  record<ClientOptions>({ ...connectionChecks, ...own })('options', options)
}

/** Checks the options of a connection. Throws `invalid-config`. */
export function checkConnectionOptions(options: unknown): void {
  record(connectionChecks)('options', options)
}

/** Checks the options of an admin client. Throws `invalid-config`. */
export function checkAdminOptions(options: unknown): void {
  record<AdminOptions>({ ...connectionChecks, ids: checkFunction })('options', options)
}

/** Returns 128 random bits as four numbers. `crypto.randomUUID` is missing on pages without https. */
export function randomId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('x')
}

/** Number of names of each kind that a client remembers. */
const mostNames = 1_000

/**
 * Drops the oldest entry if there are too many. Must be called after each entry is added. A page or a server may use one client
 * for as long as it lives.
 */
export function dropOldest(names: Map<string, unknown> | Set<string>): void {
  const [oldest = ''] = names.keys()
  if (names.size > mostNames) names.delete(oldest)
}
