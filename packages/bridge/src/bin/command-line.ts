import { parseArgs } from 'node:util'
import { closest } from '@bowline/llm/arguments'
import { BridgeError } from '../errors.ts'
import { logLevels, type LogLevel } from '../logger.ts'
import type { Question } from './ask.ts'
import { isLoopback, readAddress, type HttpAddress } from './http-address.ts'
import { readWorker, type WorkerFlag } from './worker-flag.ts'

/** The parsed command line of `bowline-bridge`. */
export interface CommandLine {
  readonly command: 'serve' | 'check' | 'ask' | 'help' | 'version'
  /** Question of the `ask` command. */
  readonly question: Question | undefined
  /** Default: the configuration file in the current folder. */
  readonly configFile: string | undefined
  readonly workers: readonly WorkerFlag[]
  readonly defaultAgentId: string | undefined
  /** HTTP settings. Undefined: use stdin and stdout. */
  readonly http: HttpFlags | undefined
  readonly logLevel: LogLevel
}

export interface HttpFlags extends HttpAddress {
  /** Further host names that requests may use. */
  readonly allowedHosts: readonly string[]
  /** Bearer token that callers must send. Undefined: no authentication. */
  readonly token: string | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

const flags = {
  config: { type: 'string' },
  worker: { type: 'string', multiple: true },
  'default-agent': { type: 'string' },
  http: { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  'log-level': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

const commands = ['check', 'ask'] as const

/** Parses flags and environment. A flag overrides its variable. Throws `CONFIG` with advice. */
export function readCommandLine(argv: readonly string[], environment: Environment): CommandLine {
  const { values, positionals } = parse(argv)
  const { command, question } =
    values.help || values.version
      ? { command: values.help ? ('help' as const) : ('version' as const), question: undefined }
      : readCommand(positionals)
  return {
    command,
    question,
    configFile: values.config ?? given(environment['BOWLINE_BRIDGE_CONFIG']),
    workers: (values.worker ?? []).map(readWorker),
    defaultAgentId: values['default-agent'],
    http: readHttp(values.http, values['allow-host'] ?? [], given(environment['BOWLINE_BRIDGE_TOKEN'])),
    logLevel: readLevel(values['log-level'] ?? given(environment['BOWLINE_LOG_LEVEL']) ?? (command === 'ask' ? 'error' : 'info')),
  }
}

function parse(argv: readonly string[]) {
  const { tokens } = parseArgs({ args: [...argv], options: flags, allowPositionals: true, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind === 'option' && !Object.hasOwn(flags, token.name)) throw unknownWord(token.rawName, Object.keys(flags), '--')
  }
  try {
    return parseArgs({ args: [...argv], options: flags, allowPositionals: true })
  } catch (error) {
    throw new BridgeError('CONFIG', error instanceof Error ? error.message : String(error))
  }
}

function readCommand(words: readonly string[]): Pick<CommandLine, 'question'> & { readonly command: 'serve' | 'check' | 'ask' } {
  const [word, more, prompt, ...others] = words
  if (word === undefined) return { command: 'serve', question: undefined }
  if (word === 'ask') {
    if (more === undefined || prompt === undefined || prompt.trim() === '' || others.length > 0) {
      throw new BridgeError('CONFIG', 'ask takes an agent and one text in quotes, such as ask reviewer "Is this right?"')
    }
    return { command: word, question: { agentId: more, prompt } }
  }
  if (word !== 'check') throw unknownWord(word, commands)
  if (more !== undefined) throw new BridgeError('CONFIG', `check takes no argument; received ${JSON.stringify(more)}`)
  return { command: word, question: undefined }
}

function readHttp(address: string | undefined, allowedHosts: readonly string[], token: string | undefined): HttpFlags | undefined {
  if (address === undefined) {
    if (allowedHosts.length > 0) throw new BridgeError('CONFIG', '--allow-host needs --http')
    return undefined
  }
  const { host, port } = readAddress(address)
  if (token === undefined && !isLoopback(host)) {
    throw new BridgeError(
      'CONFIG',
      `Without a token every caller could use the agents on ${host}: set BOWLINE_BRIDGE_TOKEN, or choose 127.0.0.1`,
    )
  }
  return { host, port, allowedHosts, token }
}

function readLevel(text: string): LogLevel {
  const level = logLevels.find((known) => known === text)
  if (level) return level
  throw new BridgeError('CONFIG', `The log level must be one of ${logLevels.join(', ')}; received ${text}`)
}

/** Treats an empty variable as unset. */
function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}

function unknownWord(word: string, known: readonly string[], prefix = ''): BridgeError {
  const meant = closest(word, known)
  const advice = meant === undefined ? ': see bowline-bridge --help' : `; did you mean ${prefix}${meant}?`
  return new BridgeError('CONFIG', `There is no ${word}${advice}`)
}
