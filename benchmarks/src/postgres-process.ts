import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface ChildOptions {
  readonly url: string
  readonly concurrency: number
  /** Restate places the sessions, and the process listens for it on this port. */
  readonly restate?: { readonly url: string; readonly port: number; readonly frozenAfterMs: number }
}

/** Name of the agent whose model answers at the requested pace. */
export const pacedAgent = 'paced'

export type Order =
  /** Completes this number of runs of two steps in new sessions, and reports the duration. */
  | { readonly kind: 'run'; readonly name: string; readonly count: number; readonly atOnce: number }
  /** Completes runs of two steps until `unload`. */
  | { readonly kind: 'load'; readonly name: string; readonly atOnce: number }
  | { readonly kind: 'unload' }
  /** Reports the number of completed runs. */
  | { readonly kind: 'count' }
  /** Reports when each durable event of this session was read. */
  | { readonly kind: 'watch'; readonly session: string }

/** Report of a process. Times are those of `sharedNow`. */
export type Report =
  | { readonly kind: 'started'; readonly port?: number }
  | { readonly kind: 'called'; readonly at: number }
  | { readonly kind: 'ran'; readonly startedAt: number; readonly endedAt: number; readonly cpuMs: number }
  | { readonly kind: 'unloaded' }
  | { readonly kind: 'counted'; readonly completed: number }
  | { readonly kind: 'event'; readonly cursor: string; readonly at: number }

type ReportOf<K extends Report['kind']> = Extract<Report, { readonly kind: K }>

export interface PostgresProcess {
  /** Port on which it listens for Restate. */
  readonly port: number | undefined
  order(order: Order): void
  /** Resolves with the next report of this kind that was not returned yet. */
  next<K extends Report['kind']>(kind: K): Promise<ReportOf<K>>
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  /** Stops the runtime, if the process is alive. */
  stop(): Promise<void>
}

/** Starts a process with a runtime, and waits until it claims runs. */
export async function startProcess(options: ChildOptions): Promise<PostgresProcess> {
  const child = fork(join(import.meta.dirname, 'postgres-child.ts'), [JSON.stringify(options)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const ended = once(child, 'exit')
  const reports = new Map<string, Report[]>()
  const asked = new Map<string, (report: Report) => void>()
  child.on('message', (report: Report) => {
    const give = asked.get(report.kind)
    asked.delete(report.kind)
    if (give) give(report)
    else reports.set(report.kind, [...(reports.get(report.kind) ?? []), report])
  })
  const next = async (kind: string): Promise<Report> => {
    const known = reports.get(kind)?.shift()
    if (known) return known
    const { promise, resolve } = Promise.withResolvers<Report>()
    asked.set(kind, resolve)
    const report = await Promise.race([promise, ended])
    if (Array.isArray(report)) throw new Error(`The process ended before it said "${kind}"`)
    return report
  }
  const { port } = (await next('started')) as ReportOf<'started'>
  return {
    port,
    order: (order) => void child.send(order),
    next: next as PostgresProcess['next'],
    signal: (name) => void child.kill(name),
    async stop() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
