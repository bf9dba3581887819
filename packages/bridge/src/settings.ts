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
import { stderrLogger } from './logger.ts'
import type { BridgeLogger } from './logger.ts'
import type { BridgeNotice } from './notices.ts'
import type { BridgeAction } from './bridge-contract.ts'
import { checkRedact, redactSchema } from './redact.ts'

/** Executors, store, limits and callbacks of a bridge. Times are in milliseconds, sizes in UTF-8 bytes. Every field has a default. */
export interface BridgeOptions {
  /** Executors in order of precedence: for a repeated agent id the first wins. Default: none. */
  readonly executors?: readonly BridgeExecutor[]
  /** Used when a call names no agent. Default: the first agent of the first executor that has one. */
  readonly defaultAgentId?: string
  /**
   * Store of sessions and requests. Default: the store of the first runtime agent, else memory. A store that outlives the
   * process still tells the outcome of earlier requests.
   */
  readonly store?: StateStore
  /** Running requests. Default 50. */
  readonly maxInFlight?: number
  /** Requests that wait for a place, owners in turns. Default 0. */
  readonly maxQueued?: number
  /** Running requests of one owner. Default: half of `maxInFlight`, and all for `local`. */
  readonly maxInFlightPerOwner?: number
  /** Waiting requests of one owner. Default: half of `maxQueued`, and all for `local`. */
  readonly maxQueuedPerOwner?: number
  /**
   * Sessions of one owner with each executor. Default: half of the executor's limit, and all of it for `local`. Stored
   * sessions count too. The check is not part of the commit: bridges on one store that open sessions at the same moment may
   * exceed it by the number of those.
   */
  readonly maxSessionsPerOwner?: number
  /** UTF-8 bytes. Default 1 MiB. */
  readonly maxPromptBytes?: number
  /** Metadata and runtimeParams together, as JSON. Default 64 KiB. */
  readonly maxMetadataBytes?: number
  /** Text and structured result together. Default 8 MiB. */
  readonly maxResultBytes?: number
  /** Time limit of a request without one of its own. Default 30 minutes. */
  readonly timeoutMs?: number
  /** Longest `timeoutMs` of a request. Default 24 hours. */
  readonly maxTimeoutMs?: number
  /** Inactivity timeout of an agent; 0 disables it. Default 5 minutes in process, 2 minutes elsewhere. */
  readonly inactivityMs?: number
  /** How long a cancelled agent may take to settle. Default 5,000. */
  readonly cancelGraceMs?: number
  /** How long a tool call stays open before it answers `running`. Default 50,000. */
  readonly waitMs?: number
  /** Progress on a quiet request, for callers that asked for progress. Default 10,000. */
  readonly heartbeatMs?: number
  /** Time for which an ended request can be queried and joined. Default 1 hour; 24 hours for durable agents. */
  readonly requestRetentionMs?: number
  /** How many finished requests and sessions that are over are kept. Default 10,000. */
  readonly maxRequestRecords?: number
  /** Number of nested delegations between agents. Default 4. */
  readonly maxDepth?: number
  /** Whether an agent may get back work that it delegated. Default false. */
  readonly allowLoops?: boolean
  /** Returns whether an owner may do this with an agent. A refused agent is invisible to the owner. Default: everything is allowed. */
  readonly authorize?: (owner: string, action: BridgeAction, agentId: string) => boolean
  /** Called with each notice. Must not throw. */
  readonly onEvent?: (notice: BridgeNotice) => void
  /** Time and timers. Default: the system clock. */
  readonly clock?: Clock
  /** Makes ids of sessions and requests. Default: random. */
  readonly ids?: IdSource
  /** Default: JSON lines on stderr. */
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
  logger: check.methods('info', 'warn', 'error'),
  redact: withSchema(redactSchema, checkRedact),
}

/** Throws `CONFIG` for an unknown option or one that cannot be. An option that is `undefined` is absent. */
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
    // 128 random bits: only a caller that was given an id knows it.
    ids: { next: (kind) => `${kind}_${randomBytes(16).toString('base64url')}` },
    logger: stderrLogger(),
    redact: undefined,
  }
}
