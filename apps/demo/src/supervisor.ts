import { parseArgs } from 'node:util'
import { isPortTaken } from './server/port-taken.ts'
import { portFrom, SettingsError } from './server/settings.ts'
import type { Environment } from './server/settings.ts'
import { storeChoiceFrom } from './server/store-choice.ts'
import { buildPage, watchPage } from '@bowline/studio/build-page'
import { freePort } from './supervisor/free-port.ts'
import { keepOnRestate } from './supervisor/keep-on-restate.ts'
import { keepServer } from './supervisor/keep-server.ts'
import type { KeptServer, ServerEnd } from './supervisor/keep-server.ts'
import { keepServers } from './supervisor/keep-servers.ts'
import type { KeepServersOptions } from './supervisor/keep-servers.ts'
import { restateProgram } from './supervisor/restate-program.ts'

const usage = `npm start                            the demo in a browser
npm start -- --restate               the same on two servers, whose sessions Restate places
npm start -- --cli                   the same agent in the terminal
npm start -- --cli --once "text"     one answer in the terminal`

process.exitCode = await run(process.argv.slice(2))

async function run(args: readonly string[]): Promise<number> {
  const options = readArguments(args)
  if (!options || (options.once !== undefined && !options.cli) || (options.cli && (options.dev || options.restate))) {
    console.error(usage)
    return 2
  }
  if (options.once !== undefined) {
    const { once } = await import('./terminal/once.ts')
    return once(options.once, process.env)
  }
  if (options.cli) {
    const { talk } = await import('./terminal/talk.ts')
    return talk({ env: process.env, input: process.stdin, output: process.stdout, notes: process.stderr })
  }
  return serve(options)
}

function readArguments(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        cli: { type: 'boolean', default: false },
        once: { type: 'string' },
        dev: { type: 'boolean', default: false },
        restate: { type: 'boolean', default: false },
      },
    })
    return values
  } catch {
    return undefined
  }
}

async function serve({ dev, restate }: { readonly dev: boolean; readonly restate: boolean }): Promise<number> {
  // Building the page sets NODE_ENV in this process. The server gets the original environment.
  const env = { ...process.env }
  try {
    const program = restate ? restateProgram(env) : undefined
    const keep = storeChoiceFrom(env).kind === 'postgres' ? keepTwo : keepOne
    const port = portFrom(env)
    const watched = dev ? await watchPage() : undefined
    try {
      const pageFolder = watched?.folder ?? (await buildPage())
      const server = await keep({ ...env, DEMO_PORT: String(port), DEMO_PAGE: pageFolder }, port, program)
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.stop())
      return await explain(await server.ended, port)
    } finally {
      await watched?.close()
    }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    console.error(error.message)
    return 1
  }
}

type Kept = Omit<KeptServer, 'tell'>

function keepOne(env: Environment): Kept {
  let told = false
  return keepServer({
    env,
    onReady({ url }) {
      console.log(told ? 'The server is back.' : `Bowline is ready: ${url}`)
      told = true
    },
    onGone: (exit, restartInMs) => console.log(`The server ended (${exit}). The next one starts in ${restartInMs} ms.`),
  })
}

async function keepTwo(env: Environment, port: number, program: string | undefined): Promise<Kept> {
  const options: KeepServersOptions = {
    env,
    port,
    names: ['A', 'B'],
    onAllReady: (url) => console.log(`Bowline is ready: ${url} (servers A and B${program === undefined ? '' : ' on Restate'})`),
    onBack: (name) => console.log(`Server ${name} is back.`),
    onGone: (name, exit, restartInMs) => console.log(`Server ${name} ended (${exit}). The next one starts in ${restartInMs} ms.`),
  }
  try {
    return await (program === undefined ? keepServers(options) : keepOnRestate(options, program))
  } catch (error) {
    if (!isPortTaken(error)) throw error
    return { ended: Promise.resolve({ type: 'refused', reason: 'port-taken', message: error.message }), stop: () => undefined }
  }
}

async function explain(end: ServerEnd, port: number): Promise<number> {
  switch (end.type) {
    case 'stopped':
      return 0
    case 'failing':
      console.error(`The server does not start (${end.exit}). What it said stands above.`)
      return 1
    case 'refused':
      console.error(end.reason === 'port-taken' ? await offerPort(port) : end.message)
      return 1
  }
}

async function offerPort(port: number): Promise<string> {
  const free = await freePort(port + 1)
  return `Port ${port} is taken. Port ${free} is free:\n\n  DEMO_PORT=${free} npm start\n`
}
