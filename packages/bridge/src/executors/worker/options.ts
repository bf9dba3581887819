import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { optionPath, type FieldChecks } from '@bowline/llm/arguments'
import { checkId, configChecks as check } from '../../arguments.ts'
import { withSchema } from '../../check-schemas.ts'
import { BridgeError } from '../../errors.ts'
import { givenFields } from '../../given-fields.ts'
import { programFile } from '../../worker/program-file.ts'
import { limitChecks } from '../executor.ts'
import type { ExecutorLimits } from '../executor.ts'

/** Programs and limits of a worker executor. */
export interface WorkerExecutorOptions extends ExecutorLimits {
  /** One entry per program, with the id of its agent. */
  readonly workers: readonly WorkerOptions[]
  /** Time in ms that a worker has to exit after it was asked to. Default 5,000. */
  readonly cancelGraceMs?: number
}

/** A worker: a program, or a Node module. */
export type WorkerOptions = CommandWorkerOptions | EntryWorkerOptions

/** A worker that is any program. */
export interface CommandWorkerOptions extends CommonWorkerOptions {
  /** A program that speaks the Agent Client Protocol on stdin and stdout. It is started without a shell. */
  readonly command: string
  /** Arguments of the program. Default: none. */
  readonly args?: readonly string[]
}

/** A worker that is a Node module. */
export interface EntryWorkerOptions extends CommonWorkerOptions {
  /** A module that calls `serveWorker`. It runs with the Node version of this process. */
  readonly entry: string
  /** Arguments of the program. Default: none. */
  readonly args?: readonly string[]
}

interface CommonWorkerOptions {
  /** Id of its agent. */
  readonly id: string
  /**
   * Working directory, and the base of a relative `entry`. Default: the folder of the configuration file, else that of this
   * process.
   */
  readonly cwd?: string
  /** Environment variables in addition to the inherited ones, which they override. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether to inherit all variables of this process except `BOWLINE_*`. Default: only those that programs need to run. */
  readonly inheritEnv?: boolean
  /** Capabilities of its agent, shown by discovery. Default: those that the worker reports. */
  readonly capabilities?: readonly string[]
  /** Number of processes of this worker. Default 1. */
  readonly instances?: number
  /** Maximum number of open sessions per process. Default: the number that the worker reports. */
  readonly maxConcurrentSessions?: number
  /**
   * `token`: the worker must prove that it is the started process. It gets a token as the first line of stdin, the notification
   * `_bowline/token`; `serveWorker` answers with the proof. Default if `entry` is given.
   */
  readonly handshake?: 'acp' | 'token'
  /** Whether to end the worker with all its children if this process is gone. Default true. */
  readonly guard?: boolean
  /** Time limit for start and handshake in ms. Default 10,000. */
  readonly startTimeoutMs?: number
  /** Whether a permission request becomes a question to the caller (`ask`, the default) or is refused (`deny`). */
  readonly permissions?: 'ask' | 'deny'
  /** Restart limits of a lost worker. */
  readonly restart?: Partial<RestartLimits>
}

/** Restart limits of a lost worker. Times are in ms. */
export interface RestartLimits {
  /**
   * Maximum number of restarts within `windowMs`. If it is exceeded, the worker is unavailable until the window has passed. Default
   * 5.
   */
  readonly maxRestarts: number
  /** Period in ms over which restarts are counted. Default 60,000. */
  readonly windowMs: number
  /** First pause in ms; each further pause is twice as long. Default 250. */
  readonly backoffMs: number
  /** Longest pause in ms. Default 10,000. */
  readonly maxBackoffMs: number
}

/** Options of one worker with defaults applied. */
export interface WorkerSettings {
  readonly id: string
  /** Whether it is a module that the Node of this process runs. */
  readonly isEntry: boolean
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
  /** Returns the configured path of a missing folder or file; undefined if nothing is missing. */
  missing(): string | undefined
}

const restartChecks: FieldChecks<RestartLimits> = {
  maxRestarts: check.whole(0),
  windowMs: check.whole(1),
  backoffMs: check.whole(0),
  maxBackoffMs: check.whole(0),
}

const workerChecks: FieldChecks<CommandWorkerOptions & EntryWorkerOptions> = {
  id: checkId,
  command: check.optionalName,
  entry: check.optionalName,
  args: check.listOf(check.required(check.checkText)),
  cwd: check.optionalName,
  env: check.valuesOf(check.required(check.checkText)),
  inheritEnv: check.checkBoolean,
  capabilities: check.listOf(check.checkName),
  instances: check.whole(1),
  maxConcurrentSessions: check.whole(1),
  handshake: check.oneOf('acp', 'token'),
  guard: check.checkBoolean,
  startTimeoutMs: check.whole(1),
  permissions: check.oneOf('ask', 'deny'),
  restart: check.optionalRecord<Partial<RestartLimits>>(restartChecks),
}

/** Exactly one of the two is required; `programOf` checks that. */
export const checkWorker = withSchema({ oneOf: [{ required: ['command'] }, { required: ['entry'] }] }, check.record(workerChecks))

const optionChecks: FieldChecks<WorkerExecutorOptions> = {
  ...limitChecks,
  workers: check.requiredList(checkWorker),
  cancelGraceMs: check.whole(0),
}

const standardRestart: RestartLimits = { maxRestarts: 5, windowMs: 60_000, backoffMs: 250, maxBackoffMs: 10_000 }

/** Origin of options. */
export interface OptionsPlace {
  /** Path of the options, as errors name it. */
  readonly path: string
  /** Base of relative paths. */
  readonly folder: string
}

/** Applies defaults. Throws `CONFIG` for options that can never work. */
export function workerSettings(options: WorkerExecutorOptions, { path: given, folder }: OptionsPlace): readonly WorkerSettings[] {
  check.record(optionChecks)(given, options)
  const { workers, cancelGraceMs = 5000 } = options
  const seen = new Set<string>()
  return workers.map((worker, place) => {
    const path = `${optionPath(given, 'workers')}[${place}]`
    if (seen.has(worker.id))
      throw new BridgeError('CONFIG', `${path}.id: two workers have the id ${worker.id}`, { details: { agentId: worker.id } })
    seen.add(worker.id)
    return { ...settingsOf(path, worker, folder), cancelGraceMs }
  })
}

function settingsOf(path: string, worker: WorkerOptions, folder: string): Omit<WorkerSettings, 'cancelGraceMs'> {
  const {
    id,
    env = {},
    inheritEnv = false,
    capabilities,
    guard = true,
    permissions = 'ask',
    instances = 1,
    startTimeoutMs = 10_000,
  } = worker
  const { maxConcurrentSessions, restart = {} } = worker
  const cwd = resolve(folder, worker.cwd ?? '.')
  const handshake = worker.handshake ?? (isEntry(worker) ? 'token' : 'acp')
  return {
    id,
    isEntry: isEntry(worker),
    cwd,
    env,
    inheritEnv,
    handshake,
    guard,
    permissions,
    instances,
    startTimeoutMs,
    ...programOf(path, worker, cwd),
    ...(capabilities && { capabilities }),
    ...(maxConcurrentSessions !== undefined && { maxConcurrentSessions }),
    restart: { ...standardRestart, ...givenFields(restart) },
  }
}

function programOf(path: string, worker: WorkerOptions, cwd: string): Pick<WorkerSettings, 'command' | 'args' | 'missing'> {
  const { command, entry, args = [] } = worker as Partial<CommandWorkerOptions & EntryWorkerOptions>
  if ((command === undefined) === (entry === undefined))
    throw new BridgeError('CONFIG', `${path} must have either a command or an entry`, { details: { agentId: worker.id } })
  const missingFolder = (): string | undefined => (isFolder(cwd) ? undefined : `there is no folder ${JSON.stringify(worker.cwd ?? cwd)}`)
  if (entry === undefined) return { command: command as string, args, missing: missingFolder }
  const file = resolve(cwd, entryFile(path, entry))
  const place = worker.cwd === undefined ? '' : ` in ${JSON.stringify(worker.cwd)}`
  const missingFile = (): string | undefined => (existsSync(file) ? undefined : `there is no entry ${JSON.stringify(entry)}${place}`)
  const start = ['--disable-warning=ExperimentalWarning', programFile('worker/start-entry')]
  return { command: process.execPath, args: [...start, file, ...args], missing: () => missingFolder() ?? missingFile() }
}

function entryFile(path: string, entry: string): string {
  try {
    return entry.startsWith('file:') ? fileURLToPath(entry) : entry
  } catch {
    throw new BridgeError('CONFIG', `${path}.entry must be a path or the URL of a file on this machine; received ${JSON.stringify(entry)}`)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function isEntry(worker: WorkerOptions): worker is EntryWorkerOptions {
  return 'entry' in worker && worker.entry !== undefined
}
