import { randomUUID } from 'node:crypto'
import type { RunHandle, Session, SessionOptions } from '@bowline/sessions'
import type { Ingress } from './ingress.ts'

export const inputMethods = ['send', 'steer', 'followUp'] as const

const viewMethods = ['info', 'messages', 'runs', 'usage'] as const

/** Methods of a session that Restate hands on to a worker. `events` and `export` stream, so they need the store or a server. */
export const remoteMethods = [
  ...inputMethods,
  ...(['overlay', 'stop', 'kill', 'schedule', 'compact', 'delete', 'open'] as const),
  ...(['submitToolResults', 'approve', 'deny', 'grant', 'resolveTool', 'recover'] as const),
  ...viewMethods,
] as const

/** Name of a method that a session on Restate has. */
export type RemoteMethod = (typeof remoteMethods)[number]

/** Methods that change nothing, so that repeating them is harmless. */
export const readingMethods: readonly string[] = [...viewMethods, 'result']

/** Result of a run, as `RunHandle.result` returns it. */
export type RemoteResult = Awaited<ReturnType<RunHandle['result']>>

/** A run that was accepted. */
export interface AcceptedRun extends Pick<RunHandle, 'runId' | 'accepted'> {
  /** Waits until the run waits or ends. */
  result(): Promise<RemoteResult>
}

/** A value with a handle that works elsewhere in place of each handle of a run. */
type Remote<T> = T extends RunHandle
  ? AcceptedRun
  : T extends { readonly run: RunHandle }
    ? Omit<T, 'run'> & { readonly run: AcceptedRun }
    : T

/** A session on Restate: the methods of `Session` that return no stream. They reject with the same errors. */
export type RemoteSession = {
  readonly [M in RemoteMethod]: (...given: Parameters<Session[M]>) => Promise<Remote<Awaited<ReturnType<Session[M]>>>>
} & {
  readonly key: string
  /** Waits until this run waits or ends. */
  result(runId: string): Promise<RemoteResult>
}

/** Sessions on Restate, for processes that have neither a store nor agents. */
export interface RemoteSessions {
  /** Returns a handle. Does no I/O. The options count if the session is created. */
  session(key: string, options?: SessionOptions): RemoteSession
}

/** Argument of a handler. */
export interface RemoteCall {
  readonly args?: readonly unknown[]
  readonly session?: SessionOptions
}

export function remoteSessions(ingress: Ingress): RemoteSessions {
  return {
    session(key, options) {
      const call = async (method: string, args: readonly unknown[]): Promise<unknown> => {
        const body: RemoteCall = { args, ...(options && { session: options }) }
        return ingress.call(key, method, { body, ...(!readingMethods.includes(method) && { idempotencyKey: randomUUID() }) })
      }
      const result = async (runId: string): Promise<RemoteResult> => {
        for (;;) {
          const told = (await call('result', [runId])) as { readonly result?: RemoteResult }
          if (told.result) return told.result
        }
      }
      const withHandles = (value: unknown): unknown => {
        if (typeof value !== 'object' || value === null) return value
        if ('accepted' in value && 'runId' in value) return { ...value, result: () => result(String(value.runId)) }
        return 'run' in value ? { ...value, run: withHandles(value.run) } : value
      }
      const methods = remoteMethods.map((method) => [method, async (...args: unknown[]) => withHandles(await call(method, args))] as const)
      return { ...(Object.fromEntries(methods) as unknown as Omit<RemoteSession, 'key' | 'result'>), key, result }
    },
  }
}
