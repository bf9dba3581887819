import { randomBytes } from 'node:crypto'
import type { IdSource } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import type { Clock, RedactConfig } from '@bowline/llm'
import type { FieldChecks } from '@bowline/llm/arguments'
import type { StateStore } from '@bowline/sessions'
import { configChecks as check } from './arguments.ts'
import { needsCode, withSchema } from './check-schemas.ts'
import type { BridgeExecutor } from './executors/executor.ts'
import { givenFields } from './given-fields.ts'
import { atLevel, stderrLogger } from './logger.ts'
import type { BridgeLogger } from './logger.ts'
import type { BridgeNotice } from './notices.ts'
import type { BridgeAction } from './bridge-contract.ts'
import { checkRedact, redactSchema } from './redact.ts'

/** Executors, store, limits and callbacks of a bridge. Times are in milliseconds, sizes in UTF-8 bytes. Every field has a default. */
export interface BridgeOptions {
  /** Executors in order of precedence. If two have an agent with the same id, the first wins. Default: none. */
  readonly executors?: readonly BridgeExecutor[]
  /** Id of the agent for calls that name none. Default: the first agent of the first executor that has one. */
  readonly defaultAgentId?: string
  /**
   * Store of sessions and requests. Default: the store of the first runtime agent, else memory. With a persistent store, outcomes
   * of earlier requests can be queried after a restart.
   */
  readonly store?: StateStore
  /** Maximum number of running requests. Default 50. */
  readonly maxInFlight?: number
  /** Maximum number of queued requests; owners take turns. Default 0. */
  readonly maxQueued?: number
  /** Maximum number of running requests of one owner. Default: half of `maxInFlight`; all of it for `local`. */
  readonly maxInFlightPerOwner?: number
  /** Maximum number of queued requests of one owner. Default: half of `maxQueued`; all of it for `local`. */
  readonly maxQueuedPerOwner?: number
  /**
   * Maximum number of sessions of one owner with each executor. Default: half of the executor's limit; all of it for `local`.
   * Stored sessions count too. The check is not atomic: bridges that share a store and open sessions simultaneously may exceed the
   * limit.
   */
  readonly maxSessionsPerOwner?: number
  /** Maximum size of a prompt in UTF-8 bytes. Default 1 MiB. */
  readonly maxPromptBytes?: number
  /** Maximum size of metadata and `runtimeParams` together, as JSON. Default 64 KiB. */
  readonly maxMetadataBytes?: number
  /** Maximum size of text and structured result together. Default 8 MiB. */
  readonly maxResultBytes?: number
  /** Time limit of requests that set none. Default 30 minutes. */
  readonly timeoutMs?: number
  /** Longest `timeoutMs` of a request. Default 24 hours. */
  readonly maxTimeoutMs?: number
  /** Inactivity timeout of an agent; 0 disables it. Default 5 minutes in process, 2 minutes elsewhere. */
  readonly inactivityMs?: number
  /** Time that a cancelled agent has to stop. Default 5,000. */
  readonly cancelGraceMs?: number
  /** Time that a tool call stays open before it answers `running`. Default 50,000. */
  readonly waitMs?: number
  /** Interval of progress messages while nothing else is reported, for callers that requested progress. Default 10,000. */
  readonly heartbeatMs?: number
  /** Time for which an ended request can be queried and joined. Default 1 hour; 24 hours for durable agents. */
  readonly requestRetentionMs?: number
  /** Maximum number of kept records of ended requests and sessions. Default 10,000. */
  readonly maxRequestRecords?: number
  /** Maximum number of nested delegations between agents. Default 4. */
  readonly maxDepth?: number
  /** Whether an agent that delegated a task may receive it again. Default false. */
  readonly allowLoops?: boolean
  /**
   * Returns whether an owner may perform the action with an agent. A refused agent is invisible to the owner. Default: all is
   * allowed.
   */
  readonly authorize?: (owner: string, action: BridgeAction, agentId: string) => boolean
  /** Called with each notice. Must not throw. */
  readonly onEvent?: (notice: BridgeNotice) => void
  /** Clock for times and timers. Default: the system clock. */
  readonly clock?: Clock
  /** Generates ids of sessions and requests. Default: random ids. */
  readonly ids?: IdSource
  /** Logger. Default: JSON lines on stderr. */
  readonly logger?: BridgeLogger
  /** Further secrets to remove from logs, errors, notices and the reasons of agents. */
  readonly redact?: RedactConfig
}

type OfOwner = 'maxInFlightPerOwner' | 'maxQueuedPerOwner' | 'maxSessionsPerOwner'
type Optional = 'redact' | 'defaultAgentId' | 'store' | 'inactivityMs' | 'onEvent' | 'requestRetentionMs' | OfOwner
type Settings = Required<Omit<BridgeOptions, Optional>>

export interface BridgeSettings extends Settings {
  readonly defaultAgentId: string | undefined
  readonly store: StateStore | undefined
  readonly maxInFlightPerOwner: number | undefined
  readonly maxQueuedPerOwner: number | undefined
  readonly maxSessionsPerOwner: number | undefined
  readonly inactivityMs: number | undefined
  readonly requestRetentionMs: number | undefined
  readonly onEvent: ((notice: BridgeNotice) => void) | undefined
  readonly redact: RedactConfig | undefined
}

export const bridgeOptionChecks: FieldChecks<BridgeOptions> = {
  executors: check.listOf(needsCode(checkExecutor)),
  defaultAgentId: check.optionalName,
  store: check.methods('get', 'compareAndSet', 'touch', 'delete', 'list'),
  maxInFlight: check.whole(1),
  maxQueued: check.whole(0),
  maxInFlightPerOwner: check.whole(1),
  maxQueuedPerOwner: check.whole(0),
  maxSessionsPerOwner: check.whole(1),
  maxPromptBytes: check.whole(1),
  maxMetadataBytes: check.whole(0),
  maxResultBytes: check.whole(0),
  timeoutMs: check.whole(1),
  maxTimeoutMs: check.whole(1),
  inactivityMs: check.whole(0),
  cancelGraceMs: check.whole(0),
  waitMs: check.whole(0),
  heartbeatMs: check.whole(1),
  requestRetentionMs: check.whole(0),
  maxRequestRecords: check.whole(0),
  maxDepth: check.whole(0),
  allowLoops: check.checkBoolean,
  authorize: check.checkFunction,
  onEvent: check.checkFunction,
  clock: check.methods('now', 'setTimer'),
  ids: check.methods('next'),
  logger: check.methods('debug', 'info', 'warn', 'error'),
  redact: withSchema(redactSchema, checkRedact),
}

/** Applies defaults. Throws `CONFIG` for an unknown option or an invalid value. An `undefined` option counts as absent. */
export function settingsFrom(options: BridgeOptions): BridgeSettings {
  check.record(bridgeOptionChecks)('createBridge.options', options)
  return { ...defaults(), ...givenFields(options), executors: [...(options.executors ?? [])] }
}

const executorMethods = ['start', 'stop', 'agents', 'health', 'open', 'prompt', 'cancel', 'close']

function checkExecutor(path: string, executor: unknown): void {
  const methods = executor as Readonly<Record<string, unknown>> | null | undefined
  const isExecutor = typeof methods === 'object' && executorMethods.every((name) => typeof methods?.[name] === 'function')
  check.checkRequired(path, executor, 'an executor (agents go into inProcessExecutor({ agents }))', () => isExecutor)
}

function defaults(): BridgeSettings {
  return {
    executors: [],
    defaultAgentId: undefined,
    store: undefined,
    maxInFlight: 50,
    maxQueued: 0,
    maxInFlightPerOwner: undefined,
    maxQueuedPerOwner: undefined,
    maxSessionsPerOwner: undefined,
    maxPromptBytes: 1024 * 1024,
    maxMetadataBytes: 64 * 1024,
    maxResultBytes: 8 * 1024 * 1024,
    timeoutMs: 30 * 60_000,
    maxTimeoutMs: 24 * 3_600_000,
    inactivityMs: undefined,
    cancelGraceMs: 5000,
    waitMs: 50_000,
    heartbeatMs: 10_000,
    requestRetentionMs: undefined,
    maxRequestRecords: 10_000,
    maxDepth: 4,
    allowLoops: false,
    authorize: () => true,
    onEvent: undefined,
    clock: systemClock,
    // 128 random bits, so that ids cannot be guessed.
    ids: { next: (kind) => `${kind}_${randomBytes(16).toString('base64url')}` },
    logger: atLevel(stderrLogger(), 'info'),
    redact: undefined,
  }
}
