import { randomBytes } from 'node:crypto'
import type { IdSource } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { BridgeError } from './errors.ts'
import type { BridgeExecutor } from './executors/executor.ts'
import { stderrLogger } from './logger.ts'
import type { BridgeLogger } from './logger.ts'

export interface BridgeOptions {
  /** In order of precedence: an agent id in an earlier one wins. Default none. */
  readonly executors?: readonly BridgeExecutor[]
  /** Used when a call names no agent. Default: the first agent of the first executor that has one. */
  readonly defaultAgentId?: string
  /** Running requests. Default 50. */
  readonly maxInFlight?: number
  /** UTF-8 bytes. Default 1 MiB. */
  readonly maxPromptBytes?: number
  /** Metadata and runtimeParams together, as JSON. Default 64 KiB. */
  readonly maxMetadataBytes?: number
  /** Text and structured result together. Default 8 MiB. */
  readonly maxResultBytes?: number
  /** For a whole request that names no time of its own. Default 30 minutes. */
  readonly timeoutMs?: number
  /** The most that a caller may ask for. Default 24 hours. */
  readonly maxTimeoutMs?: number
  /** An agent that says nothing for so long has timed out; 0 is never. Default 5 minutes. */
  readonly inactivityMs?: number
  /** How long a cancelled agent may take to settle. Default 5,000. */
  readonly cancelGraceMs?: number
  /** How long a finished request can be joined by its id. Default 1 hour. */
  readonly requestRetentionMs?: number
  /** How many finished requests are kept. Default 10,000. */
  readonly maxRequestRecords?: number
  readonly clock?: Clock
  readonly ids?: IdSource
  /** Default: JSON lines on stderr. */
  readonly logger?: BridgeLogger
}

type Settings = Required<Omit<BridgeOptions, 'defaultAgentId' | 'executors'>>

export interface BridgeSettings extends Settings {
  readonly executors: readonly BridgeExecutor[]
  readonly defaultAgentId: string | undefined
}

/** The least value of every number. */
const leastValues = {
  maxInFlight: 1,
  maxPromptBytes: 1,
  maxMetadataBytes: 0,
  maxResultBytes: 0,
  timeoutMs: 1,
  maxTimeoutMs: 1,
  inactivityMs: 0,
  cancelGraceMs: 0,
  requestRetentionMs: 0,
  maxRequestRecords: 0,
} as const satisfies Partial<Record<keyof Settings, number>>

/** Throws `CONFIG` for an unknown option or a number out of range. */
export function settingsFrom(options: BridgeOptions): BridgeSettings {
  const standard = defaults()
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(standard, name))
  if (unknown !== undefined) throw new BridgeError('CONFIG', `There is no bridge option ${unknown}`)
  const settings = { ...standard, ...options, executors: [...(options.executors ?? [])] }
  for (const [name, least] of Object.entries(leastValues)) {
    const value = settings[name as keyof typeof leastValues]
    if (!Number.isSafeInteger(value) || value < least) {
      throw new BridgeError('CONFIG', `The bridge option ${name} must be an integer of at least ${least}`)
    }
  }
  return settings
}

function defaults(): BridgeSettings {
  return {
    executors: [],
    defaultAgentId: undefined,
    maxInFlight: 50,
    maxPromptBytes: 1024 * 1024,
    maxMetadataBytes: 64 * 1024,
    maxResultBytes: 8 * 1024 * 1024,
    timeoutMs: 30 * 60_000,
    maxTimeoutMs: 24 * 3_600_000,
    inactivityMs: 5 * 60_000,
    cancelGraceMs: 5000,
    requestRetentionMs: 3_600_000,
    maxRequestRecords: 10_000,
    clock: systemClock,
    // 128 random bits: whoever knows an id was given it.
    ids: { next: (kind) => `${kind}_${randomBytes(16).toString('base64url')}` },
    logger: stderrLogger(),
  }
}
