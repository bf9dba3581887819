import type { Writable } from 'node:stream'
import { systemClock } from '@bowline/llm'
import { missingPackage } from '@bowline/llm/arguments'
import manifest from '../../package.json' with { type: 'json' }
import type { Bridge } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { ask } from './ask.ts'
import { checkReport } from './check-report.ts'
import { readCommandLine, type CommandLine, type Environment } from './command-line.ts'
import { endOfService } from './end-of-service.ts'
import { helpText } from './help.ts'
import { longestStartMs, print } from './print.ts'
import { tellError } from './tell.ts'
import { withBridge } from './with-bridge.ts'

const exitClean = 0
const exitFailure = 1
const exitBadConfiguration = 2

/** Runs the command and returns its exit code. */
export async function runCommand(argv: readonly string[], environment: Environment, protocol: Writable): Promise<number> {
  // Keeps the process alive: the timers of the bridge do not.
  const release = systemClock.setTimer(Infinity, () => {}, { hold: true })
  try {
    await run(readCommandLine(argv, environment), protocol)
    return exitClean
  } catch (error) {
    if (error instanceof NotUsable) return exitFailure
    tellError(error)
    return BridgeError.isInstance(error) && error.code === 'CONFIG' ? exitBadConfiguration : exitFailure
  } finally {
    release()
  }
}

async function run(line: CommandLine, protocol: Writable): Promise<void> {
  switch (line.command) {
    case 'help':
      return print(protocol, helpText)
    case 'version':
      return print(protocol, `${manifest.version}\n`)
    case 'check':
      return withBridge(line, process.cwd(), (bridge) => check(bridge, protocol))
    case 'ask': {
      const over = endOfService()
      return withBridge(line, process.cwd(), async (bridge) => {
        if (line.question && !(await ask(bridge, line.question, protocol, over.signal))) throw new NotUsable()
      })
    }
    case 'serve': {
      const over = endOfService()
      if (!line.http) protocol.once('error', () => over.abort())
      const serve = await loadTransport(line, protocol, over)
      return withBridge(line, process.cwd(), serve)
    }
    default:
      return line.command satisfies never
  }
}

/** Prints a report. Throws if anything configured cannot be used. */
async function check(bridge: Bridge, protocol: Writable): Promise<void> {
  // Each start has its own time limit.
  await bridge.refresh({ waitMs: longestStartMs })
  const { lines, isUsable } = checkReport(bridge)
  await print(protocol, lines.map((line) => `${line}\n`).join(''))
  if (!isUsable) throw new NotUsable()
}

/** Thrown after the command has printed the problem. */
class NotUsable extends Error {}

const withoutMcp = (transport: string, name: string, install?: string): ((error: unknown) => never) =>
  missingPackage(name, (message) => new BridgeError('CONFIG', `serving MCP over ${transport} ${message}`), install)

/** Loads only the code of the chosen transport, so that the first answer comes sooner. Throws `CONFIG` if its packages are missing. */
async function loadTransport({ http }: CommandLine, protocol: Writable, over: AbortController): Promise<(bridge: Bridge) => Promise<void>> {
  if (http) {
    const { serveOverHttp } = await import('./serve-http.ts').catch(
      withoutMcp('HTTP', '@modelcontextprotocol/node', '@modelcontextprotocol/server @modelcontextprotocol/node'),
    )
    return (bridge) => serveOverHttp(bridge, http, over)
  }
  const { serveOverStdio } = await import('./serve-stdio.ts').catch(withoutMcp('stdio', '@modelcontextprotocol/server'))
  return (bridge) => serveOverStdio(bridge, protocol, over)
}
