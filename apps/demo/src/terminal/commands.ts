import { isDurable, isEnded } from '@bowline/agent-loop/events'
import type { ClientSession } from '@bowline/client'
import { killMoments } from '../server/kill-points.ts'
import type { DemoConnection } from './connect.ts'
import { short } from './print-event.ts'
import type { Screen } from './screen.ts'

/** Terminal as a command uses it. */
export interface CommandHost {
  readonly connection: DemoConnection
  readonly screen: Screen
  readonly session: ClientSession
  /** True if the session has had an input. */
  readonly hasBegun: boolean
  /** Switches to another session. */
  readonly open: (session: ClientSession) => Promise<void>
}

interface Command {
  readonly help: string
  /** True if it needs a session that has had an input. */
  readonly needsTalk?: true
  run(host: CommandHost, argument: string): Promise<void>
}

const commands: Readonly<Record<string, Command>> = {
  sessions: {
    help: 'the newest sessions; /sessions ID goes on with one',
    async run({ connection, screen, session, open }, id) {
      if (id !== '') return open(connection.client.session(id))
      const { sessions } = await connection.client.sessions({ limit: 20 })
      const lines = sessions.map(
        ({ sessionId, status = 'new', metadata }) =>
          `${sessionId === session.id ? '*' : ' '} ${sessionId}  ${status}  ${short(metadata['title'] ?? '')}`,
      )
      screen.tell(lines.length > 0 ? lines.join('\n') : 'There are no sessions yet.')
    },
  },
  fork: {
    help: 'goes on in a copy of this session',
    needsTalk: true,
    async run({ session, screen, open }) {
      const fork = await session.fork()
      screen.note(`Forked as ${fork.id}.`)
      await open(fork)
    },
  },
  stop: {
    help: 'stops what is running, as Ctrl+C does',
    needsTalk: true,
    run: ({ session, screen }) => stop(session, screen),
  },
  kill: {
    help: `kills the server; /kill ${killMoments.join(' | ')} waits for that moment of this session`,
    async run({ connection, session, screen }, moment) {
      const at = killMoments.find((known) => known === moment)
      if (moment !== '' && !at) return screen.note(`The moments are ${killMoments.join(', ')}.`, 'red')
      await connection.kill(at ? { at, sessionId: session.id } : { delayMs: 0, sessionId: session.id })
      screen.note(at ? `The server dies ${at}, if that comes within a minute.` : 'The server is killed.')
    },
  },
  cost: {
    help: 'tokens and money of this session',
    needsTalk: true,
    async run({ connection, session, screen }) {
      const [{ total }, { model }] = await Promise.all([session.state({ limit: 1 }), connection.info()])
      const { usage, cost } = total
      const money = cost
        ? `${cost.estimated ? '~' : ''}${cost.total} ${cost.currency}${model?.madeUpPrices ? ' (made-up prices)' : ''}`
        : 'a price that is not known'
      screen.tell(`${usage.estimated ? '~' : ''}${usage.totalTokens ?? 0} tokens, ${money}`)
    },
  },
  timeline: {
    help: 'the log of this session, an event on a line',
    needsTalk: true,
    async run({ session, screen }) {
      const { cursor } = await session.state({ limit: 1 })
      let begin: number | undefined
      for await (const event of session.attach({ from: 'start' })) {
        if (event.type === 'unknown' || event.type === 'resync' || !isDurable(event)) continue
        begin ??= event.at
        const name = 'toolName' in event ? event.toolName : 'name' in event ? event.name : 'status' in event ? event.status : ''
        screen.tell(
          `${String(event.seq).padStart(4)} ${`+${event.at - begin}`.padStart(8)} ms  ${event.type}${typeof name === 'string' ? `  ${name}` : ''}`,
        )
        if ((event.seq ?? 0) >= Number.parseInt(cursor, 10)) break
      }
    },
  },
  help: {
    help: 'this list',
    async run({ screen }) {
      screen.tell(
        [
          ...Object.entries(commands).map(([name, { help }]) => `/${name.padEnd(9)} ${help}`),
          'Ctrl+C stops what is running, twice it leaves; so does Ctrl+D.',
        ].join('\n'),
      )
    },
  },
}

/** Stops the run and reports the outcome of its calls. */
export async function stop(session: ClientSession, screen: Screen): Promise<void> {
  const { status, calls } = await session.stop()
  const receipt = calls.map(({ toolName, status: outcome }) => `${toolName} ${outcome}`)
  // The store may report a run as open shortly after its end event. Such a run ended by itself.
  const isStopped = status !== undefined && (status === 'stopped' || !isEnded(status))
  screen.note(isStopped ? `Stopped. ${receipt.join(', ')}`.trimEnd() : 'Nothing is running.', 'yellow')
}

export async function runCommand(host: CommandHost, line: string): Promise<void> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/.exec(line) ?? []
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return host.screen.note(`There is no /${name}. /help lists what there is.`, 'red')
  if (command.needsTalk && !host.hasBegun) return host.screen.note('Nothing was said yet.')
  await command.run(host, argument.trim())
}
