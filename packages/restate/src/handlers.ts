import { handlers, object, TerminalError, type ObjectContext, type ObjectSharedContext } from '@restatedev/restate-sdk'
import { SessionError, type Runtime, type Session, type SessionOptions, type SessionReader } from '@bowline/sessions'
import { tellError } from './ingress.ts'
import { inputMethods, readingMethods, remoteMethods, type RemoteCall, type RemoteMethod, type RemoteResult } from './remote-sessions.ts'
import { Visits } from './visits.ts'

export interface HandlerOptions {
  readonly name: string
  readonly turnMs: number
  readonly frozenAfterMs: number
}

/** Signs of life within the time after which a worker counts as frozen. */
const beatsInTime = 4
/**
 * An invocation is tried for ever. If the server allows fewer attempts, it is killed and the next sweep begins another one: a paused
 * invocation would stop its session for ever.
 */
const retryPolicy = { initialInterval: 50, maxInterval: 5_000, maxAttempts: 2 ** 31 - 1, onMaxAttempts: 'kill' } as const
const hourMs = 3_600_000
/** Time in ms for which one call waits for the result of a run. */
const resultMs = 20_000

/** HTTP statuses for callers without a client. */
const statuses: Partial<Record<SessionError['code'], number>> = { busy: 409, conflict: 409, 'session-missing': 404, 'queue-full': 429 }

/** Makes the virtual object: one key a session, `work` exclusive, everything else shared. */
export function sessionsObject(runtime: Runtime, { name, turnMs, frozenAfterMs }: HandlerOptions) {
  const visits = new Visits(runtime, { turnMs, beatMs: frozenAfterMs / beatsInTime })
  // Without a sign of life Restate first asks a worker to leave, and then gives it up.
  const timeouts = { inactivityTimeout: Math.ceil(frozenAfterMs / 2), abortTimeout: Math.ceil(frozenAfterMs / 2) }
  // Restate compares what a retry answers with what it has stored: so the answer is stored before it is given.
  const shared = (
    call: (key: string, args: readonly unknown[], session: SessionOptions | undefined) => Promise<unknown>,
    isInput = false,
  ) =>
    handlers.object.shared(
      { retryPolicy, journalRetention: 0, idempotencyRetention: hourMs },
      (context: ObjectSharedContext, { args = [], session }: RemoteCall = {}) => {
        const given = isInput ? identified(args, context.rand.uuidv4()) : args
        return context.run(() => orTerminal(() => call(context.key, given, session)))
      },
    )
  const commands = remoteMethods.map((method) => [
    method,
    shared(
      (key, args, session) => called(sessionOf(runtime, key, method, session), method, args),
      inputMethods.some((each) => each === method),
    ),
  ])
  return object({
    name,
    handlers: {
      ...(Object.fromEntries(commands) as Record<RemoteMethod, ReturnType<typeof shared>>),
      result: shared(async (key, [runId]) => ({ result: await resultOf(runtime, key, String(runId)) })),
      work: handlers.object.exclusive({ ...timeouts, retryPolicy, journalRetention: 0 }, async (context: ObjectContext) => {
        for (;;) {
          const report = await context.run('work', () => orTerminal(() => visits.continue(context.key)))
          if (!report) continue
          const { nextDueAt, at } = report
          const next = { service: name, method: 'work', key: context.key, parameter: new Uint8Array() }
          if (nextDueAt !== null) context.genericSend({ ...next, delay: Math.max(0, nextDueAt - at) })
          return
        }
      }),
    },
  })
}

/** Sessions of subagents can only be read. */
function sessionOf(runtime: Runtime, key: string, method: RemoteMethod, options: SessionOptions | undefined): Session | SessionReader {
  if (!readingMethods.includes(method)) return runtime.session(key, options)
  return runtime.reader(key, options?.owner === undefined ? {} : { owner: options.owner })
}

async function called(session: Session | SessionReader, method: RemoteMethod, args: readonly unknown[]): Promise<unknown> {
  const call = Reflect.get(session, method) as (...args: readonly unknown[]) => Promise<unknown>
  return toldOf(await Reflect.apply(call, session, args))
}

/** Returns the arguments with an id, so that a retry of the invocation adds nothing. */
function identified([input, options]: readonly unknown[], id: string): readonly unknown[] {
  return [input, { id, ...(options as object | undefined) }]
}

/** Returns a value without handles. */
function toldOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('accepted' in value && 'runId' in value) return { runId: value.runId, accepted: value.accepted }
  return 'run' in value ? { ...value, run: toldOf(value.run) } : value
}

/** Resolves with undefined if the run goes on. */
async function resultOf(runtime: Runtime, key: string, runId: string): Promise<RemoteResult | undefined> {
  const run = await runtime.session(key).run(runId)
  const result = await run.result({ waitMs: resultMs })
  return result.status === 'queued' || result.status === 'running' ? undefined : result
}

/** Ends the invocation for an error that a retry would meet again. Restate retries all others. */
async function orTerminal<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!SessionError.isInstance(error) || error.retryable) throw error
    throw new TerminalError(tellError(error), { errorCode: statuses[error.code] ?? 400 })
  }
}
