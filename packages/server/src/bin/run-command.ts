import { closest } from '@bowline/llm/arguments'
import { ConfigError } from '../config/config-error.ts'
import { ServerError } from '../server-error.ts'
import type { Command, Outcome, CommandEnvironment } from './command.ts'
import { commands } from './commands.ts'
import { describeFailure, wantsDetails } from './describe-failure.ts'
import { helpOf, overview } from './help.ts'

const exitClean = 0
const exitFailure = 1
const exitBadConfiguration = 2

/** Runs the command. Returns its exit code, or `serving` if the process continues to run. */
export async function runCommand(argv: readonly string[], version: string, around: CommandEnvironment): Promise<number | 'serving'> {
  try {
    const outcome = await dispatch(argv, version, around)
    return outcome === 'serving' ? outcome : outcome === 'problems' ? exitFailure : exitClean
  } catch (error) {
    await around.tell(describeFailure(error, wantsDetails(argv, around.environment)))
    return isBadConfiguration(error) ? exitBadConfiguration : exitFailure
  }
}

async function dispatch(argv: readonly string[], version: string, around: CommandEnvironment): Promise<Outcome> {
  const done = (text: string) => around.print(text).then(() => 'done' as const)
  const [first = ''] = argv
  if (['--help', '-h', 'help'].includes(first)) return done(overview(commands))
  if (['--version', '-v'].includes(first)) return done(version)
  const { command, rest } = findCommand(argv)
  if (rest.some((word) => word === '--help' || word === '-h')) return done(helpOf(command))
  return command.run({ ...around, argv: rest })
}

function findCommand(given: readonly string[]): { readonly command: Command; readonly rest: readonly string[] } {
  const [first = ''] = given
  const argv = first === '' || first.startsWith('-') ? ['start', ...given] : given
  for (const command of commands) {
    const words = command.name.split(' ')
    if (words.every((word, index) => argv[index] === word)) return { command, rest: argv.slice(words.length) }
  }
  const [only, ...more] = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (only && more.length === 0 && argv.slice(1).every((word) => word.startsWith('-'))) return { command: only, rest: argv.slice(1) }
  const names = commands.map(({ name }) => name)
  const meant = closest(first, names) ?? names.find((name) => name.startsWith(`${first} `))
  const message = `there is no such command; there are ${names.join(', ')}${meant === undefined ? '' : `. Did you mean ${meant}?`}`
  throw new ConfigError([{ path: first, message }])
}

function isBadConfiguration(error: unknown): boolean {
  return error instanceof ConfigError || ServerError.isInstance(error)
}
