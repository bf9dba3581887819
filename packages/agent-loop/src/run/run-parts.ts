import type { Clock, JSONValue, RuntimeParams } from '@bowline/llm'
import type { AgentDefinition } from '../agent/definition.ts'
import type { Accepted, AgentInput, AgentRun, Limits, OnFailedTurn, RunOptions } from '../agent/options.ts'
import type { IdSource } from '../ids.ts'
import type { Journal } from '../journal/journal.ts'
import type { Budget } from '../loop/budget.ts'
import type { ModelTarget } from '../loop/model-target.ts'
import type { OnUnknownOutcome } from '../tools/tool.ts'
import type { EventBuffer } from './event-buffer.ts'
import type { Gate } from './gate.ts'
import type { Inbox } from './inbox.ts'
import type { StopSwitch } from './stop-switch.ts'

/** What one run brings along: the same for all its turns. */
export interface RunParts {
  /** With what the options of the run add to it. */
  readonly agent: AgentDefinition
  /** The model of each step, and those that take over from it. */
  readonly models: readonly [ModelTarget, ...ModelTarget[]]
  readonly journal: Journal
  readonly buffer: EventBuffer
  readonly gate: Gate
  readonly stop: StopSwitch
  readonly inbox: Inbox
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
  readonly source: string
  readonly sessionKey: string | undefined
  readonly channel: string | undefined
  readonly context: JSONValue | undefined
  readonly runtimeParams: RuntimeParams
  readonly limits: Limits
  /** Budgets that are shared with others; a turn has one more for its own limits. */
  readonly budgets: readonly Budget[]
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly onFailedTurn: OnFailedTurn
  readonly onInputWhilePending: 'refuse' | 'cancel'
  /** Those that the run was given are not taken yet. */
  readonly hasOverlays: boolean
  /** Those that the run was given, once. */
  takeOverlays(): NonNullable<RunOptions['overlays']>
  followUp(input: AgentInput): Promise<Accepted>
  /** Resolves when the run has ended. */
  readonly ended: Promise<void>
  readonly pinnedInstructions: string | undefined
  readonly pinnedHash: string | undefined
  readonly onApproval: RunOptions['onApproval']
  /** Names of the agents from the root; empty at the root. */
  readonly path: readonly string[]
  /** Runs of subagents that are under way, by tool call id. */
  readonly children: Map<string, AgentRun>
}
