import type { Clock, FunctionTool, JSONValue, LanguageModelV4ProviderTool, Models, RuntimeParams, ToolChoice } from '@bowline/llm'
import type { IdSource } from '../base/ids.ts'
import type { Agent, OnFailedTurn, RunOptions, SpawnChildOptions, Tool } from '../contract/agent.ts'
import type { Accepted, AgentInput, SessionActions } from '../contract/input.ts'
import type { Journal, OpenTurn, QueuedInput } from '../contract/journal.ts'
import type { CacheSetting } from '../contract/options.ts'
import type { AgentRun, Budget, Limits, LocalBudget, Spending } from '../contract/run.ts'
import type { InputSchema, OnUnknownOutcome } from '../contract/tool.ts'
import type { AgentEvent, DeltaEvent } from '../events/agent-event.ts'
import type { InputSource } from '../events/turn-events.ts'
import type { ModelTarget } from './model-target.ts'
import type { StopSwitch } from './stop-switch.ts'

export type Declarations = readonly (FunctionTool | LanguageModelV4ProviderTool)[]

/** A system prompt, and what is known of its parts. */
export interface SystemPrompt {
  readonly text: string
  /** In order. Each begins where the one before it ends. */
  readonly sections: readonly { readonly name: string; readonly end: number }[]
  /** So many characters at the beginning are the same in every turn. */
  readonly lasting: number
}

/** What a turn needs of its agent, besides the plug-ins. */
export interface AgentSetup {
  readonly models: Models | undefined
  readonly runtimeParams: RuntimeParams
  readonly toolChoice: ToolChoice | undefined
  readonly cache: CacheSetting
  /** Every tool that a call can name. */
  readonly tools: ReadonlyMap<string, Tool>
  /** The tools as a model is told of them. The same array as long as the tools are the same. */
  readonly declarations: Declarations
  readonly toolNames: readonly string[]
  /** Names that may run; undefined is all. */
  readonly allowed: ReadonlySet<string> | undefined
  readonly toolConcurrency: number
  readonly abortGraceMs: number
  /** What the final answer must be. */
  readonly output: OutputSetting | undefined
}

/** The schema of the final answer, and how often an answer that does not fit is asked for again. */
export interface OutputSetting {
  readonly schema: InputSchema
  readonly repairs: number
  /** The tool by which a model may give it, as a model is told of it. */
  readonly declaration: FunctionTool
}

/** `overlays`: a journal has given the one input that this slot may take. */
export type Taking = 'all' | 'one-at-a-time' | 'overlays'

/** The inputs that a run of this process is given while it is under way. */
export interface InputQueue {
  /** Inputs that wait for a slot of the turn. */
  readonly hasInputs: boolean
  readonly hasFollowUps: boolean
  offer(kind: InputSource | 'follow-up', input: AgentInput): Promise<Accepted>
  take(which: Taking): readonly QueuedInput[]
  /** The input is stored. */
  confirm(inputId: string): void
  /** The commit that ends the turn begins: inputs wait for its outcome. */
  close(): void
  /** The turn goes on after all. */
  reopen(): void
  /** The end of the turn is stored. */
  endTurn(): void
}

/** What a run knows of those above it. */
export interface Ancestry {
  /** Names of the agents from the root; empty at the root, and where a host runs subagents. */
  readonly path: readonly string[]
  readonly budgets: readonly Budget[]
  /** How many levels deep they let work be handed on. */
  readonly maxDepth: number
  readonly onBudget: Limits['onBudget']
  /** Of the run right above. */
  readonly stop?: StopSwitch
}

/** What one run brings along: the same for all its turns. */
export interface RunContext {
  readonly agent: AgentSetup
  /** The model of each step, and its fallbacks. */
  readonly models: readonly [ModelTarget, ...ModelTarget[]]
  /** Those of the agent and the run. */
  readonly params: RuntimeParams
  readonly journal: Journal
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
  readonly stop: StopSwitch
  readonly inbox: InputQueue
  /** For readers: what commits have made durable, and live events. */
  readonly events: { append(events: readonly AgentEvent[]): void; publish(delta: DeltaEvent): void }
  readonly limits: Limits
  /** Budgets that are shared with others; a turn has one more for its own limits. */
  readonly budgets: readonly Budget[]
  readonly source: string
  readonly sessionKey: string | undefined
  readonly session: SessionActions | undefined
  readonly channel: string | undefined
  readonly context: JSONValue | undefined
  readonly onUnknownOutcome: OnUnknownOutcome
  readonly onFailedTurn: OnFailedTurn
  readonly onApproval: RunOptions['onApproval']
  readonly pinnedPrompt: SystemPrompt | undefined
  readonly pinnedHash: string | undefined
  /** Names of the agents from the root; empty at the root, and where a host runs subagents. */
  readonly path: readonly string[]
  /** How many agents stand above this run, wherever they run. */
  readonly depth: number
  /** Runs of subagents that are under way, by tool call id. */
  readonly children: Map<string, AgentRun>
  /** Resolves when the run has ended. */
  readonly ended: Promise<void>
  readonly hasOverlays: boolean
  /** True while the run waits for a driver at each boundary. */
  readonly isDriven: boolean
  /** Resolves when the driver asks for what comes after the boundary. */
  passBoundary(): Promise<void>
  /** The overlays that the run was given, once. */
  takeOverlays(): readonly AgentInput[]
  followUp(input: AgentInput): Promise<Accepted>
  /** An agent for side work. `prompt`: that of the turn, empty before it is built. */
  spawnChild(prompt: SystemPrompt, options: SpawnChildOptions | undefined): Agent
  /** Of the agent, whose prompts other runs use too. Throws `invalid-config`. */
  invalidatePrompt(channel?: string): void
  reload(): Promise<void>
  /** The budget of a turn's own limits, charged with what the turn has used, and raised by what it was granted. Undefined without such limits. */
  openBudget(turn: Spending & { readonly open?: OpenTurn | undefined }): LocalBudget | undefined
}

/** By `Symbol.for`, so that two installed copies of this package know each other's agents. */
export const definitionKey: unique symbol = Symbol.for('bowline.agent-loop.definition') as never

/** Whether an agent was made by `defineAgent`; a copy of one by spreading still is. */
export function isDefined(agent: unknown): boolean {
  return typeof agent === 'object' && agent !== null && definitionKey in agent
}
