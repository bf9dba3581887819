import { ConfigError } from '../config/config-error.ts'
import type { Environment } from '../config/read-variables.ts'
import { variableOf } from '../config/settings.ts'

const prefix = 'bowline-server: '
const levelForm = /^--log\.level(?:=|$)/

/** Returns one clear line per fault, and a stack only if the caller wants details. */
export function describeFailure(error: unknown, withStack: boolean): string {
  const text = prefix + messageOf(error).replaceAll('\n', `\n${prefix}`)
  const stack = withStack ? stackOf(error) : undefined
  return stack === undefined ? text : `${text}\n${stack}`
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return `something threw ${typeof error}`
  if (error instanceof ConfigError) return error.message
  const { code, address, port } = error as Partial<Record<'code' | 'address' | 'port', string | number>>
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${address} is in use: stop the process that listens there, or choose another port with --port`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `this machine does not have the address ${address ?? 'of --host'}: choose another address with --host`
    case 'EACCES':
      return `port ${port ?? ''} may not be used by this user: choose a port above 1023 with --port`
    default:
      return error.message
  }
}

/** Returns true if the log level asks for stacks. It does not use the configuration, which may be the cause of the failure. */
export function wantsDetails(argv: readonly string[], environment: Environment): boolean {
  const at = argv.findIndex((word) => levelForm.test(word))
  const flag = argv[at]?.split('=')[1] ?? argv[at + 1]
  const level = at === -1 ? environment[variableOf('log.level')] : flag
  return level === 'debug' || level === 'trace'
}

function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  return error.cause instanceof Error ? `${error.stack}\nCaused by ${error.cause.stack}` : error.stack
}
