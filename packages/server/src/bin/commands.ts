import type { Command } from './command.ts'
import { configFlag, logFlags, tokenFlags } from './flags.ts'

/** All commands. Each loads its own code, so that help and tokens start fast. */
export const commands: readonly Command[] = [
  {
    name: 'start',
    usage: '[start] [flags]',
    about: 'Serve the agents until the process is told to stop',
    takesSettings: true,
    flags: configFlag,
    run: async (call) => (await import('./start.ts')).start(call),
  },
  {
    name: 'check',
    usage: 'check [flags]',
    about: 'Check the configuration, load the agents, and print what would be used',
    takesSettings: true,
    flags: configFlag,
    run: async (call) => (await import('./check.ts')).check(call),
  },
  {
    name: 'migrate',
    usage: 'migrate [flags]',
    about: 'Bring the tables of a Postgres store to this version',
    takesSettings: true,
    flags: configFlag,
    run: async (call) => (await import('./migrate.ts')).migrate(call),
  },
  {
    name: 'log',
    usage: 'log SESSION-KEY [--json] [flags]',
    about: 'Print what a session has committed, what is open, and what a resume would do',
    takesSettings: true,
    flags: logFlags,
    run: async (call) => (await import('./log.ts')).log(call),
  },
  {
    name: 'doctor',
    usage: 'doctor [flags]',
    about: 'Look for what is wrong in a store, and say what to do about it',
    takesSettings: true,
    flags: configFlag,
    run: async (call) => (await import('./doctor.ts')).doctor(call),
  },
  {
    name: 'token create',
    usage: 'token create --tenant T --scopes A,B [--expires 90d] [--id ID]',
    about: 'Make a token, and print it with the line for the file',
    takesSettings: false,
    flags: tokenFlags,
    run: async (call) => (await import('./token-create.ts')).createTokenLine(call),
  },
  {
    name: 'openapi',
    usage: 'openapi [flags]',
    about: 'Print the API as OpenAPI 3.1',
    takesSettings: true,
    flags: configFlag,
    run: async (call) => (await import('./openapi.ts')).printOpenApi(call),
  },
]
