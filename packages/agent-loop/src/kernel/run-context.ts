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

/** A system prompt, and facts about its parts. */
export interface SystemPrompt {
  readonly text: string
  /** The parts in order. Each begins where the one before it ends. */
  readonly sections: readonly { readonly name: string; readonly end: number }[]
  /** Number of characters at the beginning that are the same in every turn. */
  readonly lasting: number
}

/** The parts of an agent that a turn needs, besides the plug-ins. */
export interface AgentSetup {
  readonly models: Models | undefined
  readonly runtimeParams: RuntimeParams
  readonly toolChoice: ToolChoice | undefined
  readonly cache: CacheSetting
  /** Every tool that a call can name. */
  readonly tools: ReadonlyMap<string, Tool>
  /** The tools as the model gets them. The same array as long as the tools are the same. */
  readonly declarations: Declarations
  readonly toolNames: readonly string[]
  /** Names of the tools that may run; undefined: all. */
  readonly allowed: ReadonlySet<string> | undefined
  readonly toolConcurrency: number
  readonly abortGraceMs: number
  /** Setting of the final answer. */
  readonly output: OutputSetting | undefined
}

/** The schema of the final answer, and the number of repairs of an answer that does not fit. */
export interface OutputSetting {
  readonly schema: InputSchema
  readonly repairs: number
  /** Declaration of the tool by which a model may give the answer. */
  readonly declaration: FunctionTool
}

/** `overlays`: only overlays, because the journal has given the one input that this window may take. */
export type Taking = 'all' | 'one-at-a-time' | 'overlays'

/** The inputs that a run of this process gets while it is running. */
export interface InputQueue {
  /** True if inputs wait for a window of the turn. */
  readonly hasInputs: boolean
  readonly hasFollowUps: boolean
  offer(kind: InputSource | 'follow-up', input: AgentInput): Promise<Accepted>
  take(which: Taking): readonly QueuedInput[]
  /** Marks an input as stored. */
  confirm(inputId: string): void
  /** Called when the commit that ends the turn begins: inputs wait for its outcome. */
  close(): void
  /** Called if the turn continues after all. */
  reopen(): void
  /** Called when the end of the turn is stored. */
  endTurn(): void
}

/** Facts about the runs above a run. */
export interface Ancestry {
  /** Names of the agents from the root; empty at the root, and where a host runs subagents. */
  readonly path: readonly string[]
  readonly budgets: readonly Budget[]
  /** Depth up to which they allow delegation. */
  readonly maxDepth: number
  readonly onBudget: Limits['onBudget']
  /** The stop of the run directly above. */
  readonly stop?: StopSwitch
}

/** Facts of one run, the same for all its turns. */
export interface RunContext {
  readonly agent: AgentSetup
  /** The model of each step, and its fallbacks. */
  readonly models: readonly [ModelTarget, ...ModelTarget[]]
  /** Params of the agent and the run. */
  readonly params: RuntimeParams
  readonly journal: Journal
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
  readonly stop: StopSwitch
  readonly inbox: InputQueue
  /** Gives readers the stored events and the live events. */
  readonly events: { append(events: readonly AgentEvent[]): void; publish(delta: DeltaEvent): void }
  readonly limits: Limits
  /** Budgets that are shared with others; a turn adds one for its own limits. */
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
  /** Number of agents above this run, wherever they run. */
  readonly depth: number
  /** Running subagents, by tool call id. */
  readonly children: Map<string, AgentRun>
  /** Resolves when the run has ended. */
  readonly ended: Promise<void>
  readonly hasOverlays: boolean
  /** True while the run waits for a driver at each boundary. */
  readonly isDriven: boolean
  /** Resolves when the driver asks for the event after the boundary. */
  passBoundary(): Promise<void>
  /** Returns the overlays that the run was given; empty from the second call on. */
  takeOverlays(): readonly AgentInput[]
  followUp(input: AgentInput): Promise<Accepted>
  /** Creates an agent for side work. `prompt` is that of the turn, empty before it is built. */
  spawnChild(prompt: SystemPrompt, options: SpawnChildOptions | undefined): Agent
  /** Drops built prompts of the agent, which other runs use too. Throws `invalid-config`. */
  invalidatePrompt(channel?: string): void
  reload(): Promise<void>
  /**
   * Creates the budget of a turn's own limits, charged with what the turn has used, and raised by what it was granted. Returns
   * undefined without such limits.
   */
  openBudget(turn: Spending & { readonly open?: OpenTurn | undefined }): LocalBudget | undefined
}

/** Made by `Symbol.for`, so that two installed copies of this package recognise each other's agents. */
export const definitionKey: unique symbol = Symbol.for('bowline.agent-loop.definition') as never

/** Returns whether an agent was made by `defineAgent`; a copy of one by spreading still is. */
export function isDefined(agent: unknown): boolean {
  return typeof agent === 'object' && agent !== null && definitionKey in agent
}
