import { createHash } from 'node:crypto'
import { SessionError } from '@bowline/sessions'
import type { RunHandle, Runtime, Session } from '@bowline/sessions'
import type { BridgeAgent, BridgeEvent, PromptContext, SessionContext } from '../agent.ts'
import { defineBridgeAgent } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import type { BridgeErrorCode } from '../errors.ts'

export interface RuntimeAgentOptions {
  /** The name of the agent in the runtime. */
  readonly agent: string
  /** Its id in the bridge. Default: its name. */
  readonly id?: string
}

/**
 * A durable agent: each bridge session is a session of the runtime, each request a run under the request's id. The
 * runtime is not started or stopped here.
 */
export function runtimeAgent(runtime: Runtime, { agent, id = agent }: RuntimeAgentOptions): BridgeAgent {
  checkAgentOf(runtime, agent)
  const runs = new Map<string, RunHandle>()

  function sessionOf({ owner, sessionId, metadata }: SessionContext): Session {
    return runtime.session(`bridge:${keyPart(owner)}:${sessionId}`, { agent, metadata })
  }

  async function* events(request: PromptContext, reading: AbortSignal): AsyncGenerator<BridgeEvent> {
    const run = await sessionOf(request.session).send(request.prompt, { id: request.requestId }).catch(throwAs('none'))
    const key = runKey(request)
    runs.set(key, run)
    try {
      // The cancel may have come before there was a run to stop.
      if (request.abortSignal.aborted) await run.stop({ waitMs: 0 })
      for await (const event of run.events({ abortSignal: reading })) yield { type: 'agent-event', event }
    } catch (error) {
      throwAs('unknown')(error)
    } finally {
      runs.delete(key)
    }
  }

  function throwAs(outcome: 'none' | 'unknown'): (error: unknown) => never {
    return (error) => {
      throw SessionError.isInstance(error) ? failureOf(error, id, outcome) : error
    }
  }

  return defineBridgeAgent({
    specificationVersion: 'v1',
    info: { id },
    durable: true,
    onPrompt(request) {
      if (Object.keys(request.runtimeParams).length > 0) {
        const issues = [{ path: 'runtimeParams', message: `agent ${id} takes none` }]
        throw new BridgeError('PROTOCOL', `Agent ${id} takes no runtimeParams`, { details: { agentId: id, issues } })
      }
      return readable(events, request)
    },
    async onCancel(request) {
      await runs.get(runKey(request))?.stop({ reason: request.reason, waitMs: 0 })
    },
  })
}

/** A handle does no I/O, and no handle is given for an agent that is not there. Throws `CONFIG`. */
function checkAgentOf(runtime: Runtime, agent: string): void {
  try {
    runtime.session('bridge:check', { agent })
  } catch (error) {
    if (!SessionError.isInstance(error)) throw error
    throw new BridgeError('CONFIG', `The runtime has no agent ${agent}`, { details: { reason: error.code } })
  }
}

/** A stream whose `return` ends a reading that waits for the next event. */
function readable(
  open: (request: PromptContext, reading: AbortSignal) => AsyncGenerator<BridgeEvent>,
  request: PromptContext,
): AsyncIterable<BridgeEvent> {
  const reading = new AbortController()
  const events = open(request, reading.signal)
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => events.next(),
      return: () => {
        reading.abort()
        return events.return(undefined)
      },
    }),
  }
}

function runKey({ session, requestId }: Pick<PromptContext, 'session' | 'requestId'>): string {
  return `${session.sessionId} ${requestId}`
}

const plainOwner = /^[A-Za-z0-9_@-]{1,64}$/

function keyPart(owner: string): string {
  return plainOwner.test(owner) ? owner : `=${createHash('sha256').update(owner).digest('base64url')}`
}

const codeBySessionError: Readonly<Record<string, BridgeErrorCode>> = {
  'unknown-agent': 'CONFIG',
  'agent-mismatch': 'CONFIG',
  'invalid-config': 'CONFIG',
  'invalid-input': 'PROTOCOL',
  'id-reused': 'PROTOCOL',
  'queue-full': 'CAPACITY',
  busy: 'BUSY',
}

/** What the runtime said about it may name files of this machine, so only its code goes on. */
function failureOf({ code, retryable }: SessionError, agentId: string, outcome: 'none' | 'unknown'): BridgeError {
  const what = outcome === 'none' ? 'did not take the prompt' : 'cannot be followed'
  return new BridgeError(codeBySessionError[code] ?? 'UPSTREAM', `Agent ${agentId} ${what}: ${code}`, {
    retryable,
    details: { agentId, reason: code, outcome },
  })
}
