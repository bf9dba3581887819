import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BridgeError } from '../../errors.ts'
import { programFile } from '../../worker/program-file.ts'
import type { ExecutorLimits } from '../executor.ts'

export interface WorkerExecutorOptions extends ExecutorLimits {
  readonly workers: readonly WorkerOptions[]
  /** How long a worker that was asked to end may take. Default 5,000. */
  readonly cancelGraceMs?: number
}

export type WorkerOptions = CommandWorkerOptions | EntryWorkerOptions

export interface CommandWorkerOptions extends CommonWorkerOptions {
  /** Any program that speaks the Agent Client Protocol on stdin and stdout. No shell is used. */
  readonly command: string
  readonly args?: readonly string[]
}

export interface EntryWorkerOptions extends CommonWorkerOptions {
  /** A module that calls `serveWorker`, run by the Node of this process. */
  readonly entry: string
  readonly args?: readonly string[]
}

interface CommonWorkerOptions {
  readonly id: string
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** All variables of this process but `BOWLINE_*`. Default: only what programs need to run. */
  readonly inheritEnv?: boolean
  /** Default: what the worker says. */
  readonly capabilities?: readonly string[]
  /** Processes of this worker. Default 1. */
  readonly instances?: number
  /** Open sessions of each process. Default: what the worker says. */
  readonly maxConcurrentSessions?: number
  /**
   * `token`: the worker must prove that it is the process that was started. It gets its token as the first line of stdin,
   * the notification `_bowline/token`; `serveWorker` answers with the proof. Default with `entry`.
   */
  readonly handshake?: 'acp' | 'token'
  /** Ends the worker with all its children when this process is gone. Default true. */
  readonly guard?: boolean
  /** Default 10,000. */
  readonly startTimeoutMs?: number
  /** What happens to a request for permission: somebody is asked, or it is refused. Default `ask`. */
  readonly permissions?: 'ask' | 'deny'
  readonly restart?: Partial<RestartLimits>
}

export interface RestartLimits {
  /** Default 5. */
  readonly maxRestarts: number
  /** Default 60,000. */
  readonly windowMs: number
  /** The first pause; each one after it is twice as long. Default 250. */
  readonly backoffMs: number
  /** Default 10,000. */
  readonly maxBackoffMs: number
}

/** One worker with all its options decided. */
export interface WorkerSettings {
  readonly id: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly inheritEnv: boolean
  readonly capabilities?: readonly string[]
  readonly instances: number
  readonly maxConcurrentSessions?: number
  readonly handshake: 'acp' | 'token'
  readonly guard: boolean
  readonly startTimeoutMs: number
  readonly permissions: 'ask' | 'deny'
  readonly restart: RestartLimits
  readonly cancelGraceMs: number
}

const names = {
  executor: ['workers', 'cancelGraceMs', 'ttlMs', 'idleMs', 'maxSessions', 'inactivityMs'],
  worker: [
    ...['id', 'command', 'entry', 'args', 'cwd', 'env', 'inheritEnv', 'capabilities', 'instances', 'maxConcurrentSessions'],
    ...['handshake', 'guard', 'startTimeoutMs', 'permissions', 'restart'],
  ],
  restart: ['maxRestarts', 'windowMs', 'backoffMs', 'maxBackoffMs'],
}

const idForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

/** Throws `CONFIG` for anything that could not work. */
export function workerSettings(options: WorkerExecutorOptions): readonly WorkerSettings[] {
  refuseUnknown(options, names.executor, 'The worker executor')
  const cancelGraceMs = integer('The worker executor', 'cancelGraceMs', options.cancelGraceMs, 5000, 0)
  const seen = new Set<string>()
  return options.workers.map((worker) => {
    if (typeof worker.id !== 'string' || !idForm.test(worker.id)) {
      throw new BridgeError('CONFIG', `The worker id ${JSON.stringify(worker.id)} must match ${idForm.source}`)
    }
    if (seen.has(worker.id)) throw new BridgeError('CONFIG', `Two workers have the id ${worker.id}`, { details: { agentId: worker.id } })
    seen.add(worker.id)
    return { ...settingsOf(worker), cancelGraceMs }
  })
}

function settingsOf(worker: WorkerOptions): Omit<WorkerSettings, 'cancelGraceMs'> {
  const who = `Worker ${worker.id}`
  refuseUnknown(worker, names.worker, who)
  const { id, env = {}, inheritEnv = false, capabilities, guard = true, permissions = 'ask', restart = {} } = worker
  const cwd = resolve(worker.cwd ?? '.')
  const handshake = worker.handshake ?? ('entry' in worker ? 'token' : 'acp')
  if (!['acp', 'token'].includes(handshake)) throw fault(who, 'must have the handshake acp or token')
  if (!['ask', 'deny'].includes(permissions)) throw fault(who, 'must have the permissions ask or deny')
  if (Object.values(env).some((value) => typeof value !== 'string')) throw fault(who, 'must have texts in env')
  refuseUnknown(restart, names.restart, who)
  return {
    ...{ id, cwd, env, inheritEnv, handshake, guard, permissions },
    ...programOf(worker, who, cwd),
    ...(capabilities && { capabilities }),
    instances: integer(who, 'instances', worker.instances, 1, 1),
    ...(worker.maxConcurrentSessions !== undefined && {
      maxConcurrentSessions: integer(who, 'maxConcurrentSessions', worker.maxConcurrentSessions, 1, 1),
    }),
    startTimeoutMs: integer(who, 'startTimeoutMs', worker.startTimeoutMs, 10_000, 1),
    restart: {
      maxRestarts: integer(who, 'maxRestarts', restart.maxRestarts, 5, 0),
      windowMs: integer(who, 'windowMs', restart.windowMs, 60_000, 1),
      backoffMs: integer(who, 'backoffMs', restart.backoffMs, 250, 0),
      maxBackoffMs: integer(who, 'maxBackoffMs', restart.maxBackoffMs, 10_000, 0),
    },
  }
}

function programOf(worker: WorkerOptions, who: string, cwd: string): Pick<WorkerSettings, 'command' | 'args'> {
  const { command, entry, args = [] } = worker as Partial<CommandWorkerOptions & EntryWorkerOptions>
  if ((command === undefined) === (entry === undefined)) throw fault(who, 'needs either a command or an entry')
  if (!isTexts(args)) throw fault(who, 'must have a list of texts as args')
  if (entry === undefined) {
    if (typeof command !== 'string' || command === '') throw fault(who, 'has an empty command')
    return { command, args }
  }
  const file = entry.startsWith('file:') ? fileURLToPath(entry) : isAbsolute(entry) ? entry : resolve(cwd, entry)
  if (!existsSync(file)) throw fault(who, `has no entry ${file}: where it is not absolute it is looked for in cwd`)
  const start = ['--disable-warning=ExperimentalWarning', programFile('worker/start-entry')]
  return { command: process.execPath, args: [...start, file, ...args] }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function refuseUnknown(given: object, known: readonly string[], who: string): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined) throw fault(who, `has no option ${unknown}`)
}

function integer(who: string, name: string, value: number | undefined, standard: number, least: number): number {
  const given = value ?? standard
  if (!Number.isSafeInteger(given) || given < least) throw fault(who, `must have an integer of at least ${least} as ${name}`)
  return given
}

function fault(who: string, text: string): BridgeError {
  return new BridgeError('CONFIG', `${who} ${text}`)
}
