import { Readable } from 'node:stream'
import type { Writable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { ndJsonStream } from '@agentclientprotocol/sdk'
import type { Agent } from '@bowline/agent-loop'
import type { BridgeAgent } from '../agent.ts'
import { configChecks as check } from '../arguments.ts'
import { checkAgent } from '../check-agent.ts'
import { givenFields } from '../given-fields.ts'
import { causeText } from '../redact-cause.ts'
import { takeStart } from './own-start.ts'
import type { OwnStart } from './own-start.ts'
import { createServedSessions } from './served-sessions.ts'
import type { ServedSessions } from './served-sessions.ts'
import { workerApp } from './worker-app.ts'

// The bridge waits 2 s after it has closed stdin, the guard 1.5 s when the bridge is gone.
const finishMs = 1200

/** Session limit of a worker process. */
export interface ServeWorkerOptions {
  /** How many sessions this process takes. Default: the bridge decides. */
  readonly maxConcurrentSessions?: number
}

/**
 * Serves an agent over the Agent Client Protocol on stdin and stdout, and ends the process when stdin ends. From then on other
 * writes to stdout go to stderr. Call it once, before the agent does anything.
 */
export function serveWorker(agent: BridgeAgent | Agent, options: ServeWorkerOptions = {}): void {
  checkServed(agent)
  check.record<ServeWorkerOptions>({ maxConcurrentSessions: check.whole(1) })('serveWorker.options', options)
  serve(takeStart(), agent, options).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${causeText(error)}\n`)
      process.exit(1)
    },
  )
}

function checkServed(agent: BridgeAgent | Agent): void {
  if (isLoopAgent(agent)) return
  checkAgent('serveWorker.agent', agent)
}

function isLoopAgent(agent: BridgeAgent | Agent): agent is Agent {
  return typeof (agent as Agent | null | undefined)?.run === 'function' && !('onPrompt' in agent)
}

async function serve(start: Promise<OwnStart>, given: BridgeAgent | Agent, options: ServeWorkerOptions): Promise<void> {
  // Who has an agent of the loop has loaded the loop.
  const agent = isLoopAgent(given) ? (await import('./loop-agent.ts')).loopAgent(given) : given
  const sessions = createServedSessions(agent)
  const { token, protocol } = await start
  const stream = ndJsonStream(webWritable(protocol), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>)
  await workerApp({ agent, sessions, token, ...givenFields(options) }).connect(stream).closed
  await finish(sessions, agent)
}

/** Written is what the pipe has taken, so that an agent is asked for no more than is read. */
function webWritable(target: Writable): WritableStream<Uint8Array> {
  target.on('error', () => {})
  return new WritableStream({
    write: (chunk) =>
      new Promise((resolve, reject) => {
        target.write(chunk, (error) => (error ? reject(error) : resolve()))
      }),
  })
}

/** What runs is told to stop. Sessions end with the process, but for those of an agent that goes on with them in another. */
async function finish(sessions: ServedSessions, { durable }: BridgeAgent): Promise<void> {
  const ended = sessions.all().map(async (session) => {
    session.current?.abort.abort()
    await session.current?.ended
    if (!durable) await sessions.close(session, 'shutdown')
  })
  await Promise.race([Promise.allSettled(ended), setTimeout(finishMs)])
}
