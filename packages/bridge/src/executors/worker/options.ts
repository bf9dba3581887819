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
  /** One for each program, with the id of its agent. */
  readonly workers: readonly WorkerOptions[]
  /** How long a worker that was asked to end may take. Default 5,000. */
  readonly cancelGraceMs?: number
}

/** A worker: a program, or a Node module. */
export type WorkerOptions = CommandWorkerOptions | EntryWorkerOptions

/** A worker that is any program. */
export interface CommandWorkerOptions extends CommonWorkerOptions {
  /** Any program that speaks the Agent Client Protocol on stdin and stdout. No shell is used. */
  readonly command: string
  /** Arguments of the program. Default: none. */
  readonly args?: readonly string[]
}

/** A worker that is a Node module. */
export interface EntryWorkerOptions extends CommonWorkerOptions {
  /** A module that calls `serveWorker`, run by the Node of this process. */
  readonly entry: string
  /** Arguments of the program. Default: none. */
  readonly args?: readonly string[]
}

interface CommonWorkerOptions {
  /** The id of its agent. */
  readonly id: string
  /** The folder in which it is started, and to which `entry` is relative. Default: that of the configuration file, else of this process. */
  readonly cwd?: string
  /** Environment variables in addition to the inherited ones; these win. */
  readonly env?: Readonly<Record<string, string>>
  /** All variables of this process but `BOWLINE_*`. Default: only what programs need to run. */
  readonly inheritEnv?: boolean
  /** What its agent can do, shown by discovery. Default: what the worker says. */
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
  /** How long its start and handshake may take, in ms. Default 10,000. */
  readonly startTimeoutMs?: number
  /** What happens to a request for permission: somebody is asked, or it is refused. Default `ask`. */
  readonly permissions?: 'ask' | 'deny'
  /** How often a lost worker is started again, and after which pauses. */
  readonly restart?: Partial<RestartLimits>
}

/** Restart rate and pauses (ms) of a lost worker. */
export interface RestartLimits {
  /** Starts within `windowMs`; with one more the worker is unavailable until the window has passed. Default 5. */
  readonly maxRestarts: number
  /** The time over which starts are counted. Default 60,000. */
  readonly windowMs: number
  /** The first pause; each one after it is twice as long. Default 250. */
  readonly backoffMs: number
  /** The longest pause. Default 10,000. */
  readonly maxBackoffMs: number
}

/** One worker with all its options decided. */
export interface WorkerSettings {
  readonly id: string
  /** A module that this Node runs. */
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
  /** Returns which folder or file is not there now, by the path as it was given. Undefined if both are. */
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

/** `programOf` refuses both and neither. */
export const checkWorker = withSchema({ oneOf: [{ required: ['command'] }, { required: ['entry'] }] }, check.record(workerChecks))

const optionChecks: FieldChecks<WorkerExecutorOptions> = {
  ...limitChecks,
  workers: check.requiredList(checkWorker),
  cancelGraceMs: check.whole(0),
}

const standardRestart: RestartLimits = { maxRestarts: 5, windowMs: 60_000, backoffMs: 250, maxBackoffMs: 10_000 }

/** Where options were written. */
export interface OptionsPlace {
  /** The path of the options, as errors name it. */
  readonly path: string
  /** Relative paths are resolved against it. */
  readonly folder: string
}

/** Throws `CONFIG` for anything that could not work. */
export function workerSettings(options: WorkerExecutorOptions, { path: given, folder }: OptionsPlace): readonly WorkerSettings[] {
  check.record(optionChecks)(given, options)
  const { workers, cancelGraceMs = 5000 } = options
  const seen = new Set<string>()
  return workers.map((worker, place) => {
    const path = `${optionPath(given, 'workers')}[${place}]`
    if (seen.has(worker.id)) throw new BridgeError('CONFIG', `${path}.id: two workers have the id ${worker.id}`, { details: { agentId: worker.id } })
    seen.add(worker.id)
    return { ...settingsOf(path, worker, folder), cancelGraceMs }
  })
}

function settingsOf(path: string, worker: WorkerOptions, folder: string): Omit<WorkerSettings, 'cancelGraceMs'> {
  const { id, env = {}, inheritEnv = false, capabilities, guard = true, permissions = 'ask', instances = 1, startTimeoutMs = 10_000 } = worker
  const { maxConcurrentSessions, restart = {} } = worker
  const cwd = resolve(folder, worker.cwd ?? '.')
  const handshake = worker.handshake ?? (isEntry(worker) ? 'token' : 'acp')
  return {
    ...{ id, isEntry: isEntry(worker), cwd, env, inheritEnv, handshake, guard, permissions, instances, startTimeoutMs },
    ...programOf(path, worker, cwd),
    ...(capabilities && { capabilities }),
    ...(maxConcurrentSessions !== undefined && { maxConcurrentSessions }),
    restart: { ...standardRestart, ...givenFields(restart) },
  }
}

function programOf(path: string, worker: WorkerOptions, cwd: string): Pick<WorkerSettings, 'command' | 'args' | 'missing'> {
  const { command, entry, args = [] } = worker as Partial<CommandWorkerOptions & EntryWorkerOptions>
  if ((command === undefined) === (entry === undefined)) throw new BridgeError('CONFIG', `${path} must have either a command or an entry`, { details: { agentId: worker.id } })
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
