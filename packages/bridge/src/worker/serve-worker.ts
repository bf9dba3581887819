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

// After closing stdin, the bridge waits 2 s. If the bridge is gone, the guard waits 1.5 s. This must be shorter.
const finishMs = 1200

/** Session limit of a worker process. */
export interface ServeWorkerOptions {
  /** Maximum number of sessions of this process. Default: the bridge decides. */
  readonly maxConcurrentSessions?: number
}

/**
 * Serves an agent over the Agent Client Protocol on stdin and stdout. Exits the process when stdin ends. Other writes to stdout go
 * to stderr from then on. Call it once, before the agent runs any code.
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
  // A program that passes a loop agent has already loaded the loop, so this import is cheap.
  const agent = isLoopAgent(given) ? (await import('./loop-agent.ts')).loopAgent(given) : given
  const sessions = createServedSessions(agent)
  const { token, protocol } = await start
  const stream = ndJsonStream(webWritable(protocol), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>)
  await workerApp({ agent, sessions, token, ...givenFields(options) }).connect(stream).closed
  await finish(sessions, agent)
}

/** Returns a stream whose writes finish once the pipe has taken them, so that the agent is not read faster than the bridge reads. */
function webWritable(target: Writable): WritableStream<Uint8Array> {
  target.on('error', () => {})
  return new WritableStream({
    write: (chunk) =>
      new Promise((resolve, reject) => {
        target.write(chunk, (error) => (error ? reject(error) : resolve()))
      }),
  })
}

/** Aborts running prompts and closes the sessions, unless the agent is durable and continues them in another process. */
async function finish(sessions: ServedSessions, { durable }: BridgeAgent): Promise<void> {
  const ended = sessions.all().map(async (session) => {
    session.current?.abort.abort()
    await session.current?.ended
    if (!durable) await sessions.close(session, 'shutdown')
  })
  await Promise.race([Promise.allSettled(ended), setTimeout(finishMs)])
}
