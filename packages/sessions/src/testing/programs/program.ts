import type { OnBusy } from '../../commands/types.ts'

/**
 * A program: what clients do with a runtime, one step after the other, and where its processes are disturbed. It is plain
 * data, so that a failing one can be shrunk and printed.
 */
export interface Program {
  /** Decides in which order the store answers, and what else is random while the program runs. */
  readonly seed: number
  readonly setup: Setup
  readonly steps: readonly ProgramStep[]
  readonly crashes: readonly ProgramCrash[]
}

/** How the agents and the runtimes of a program are made. What is absent has its default or is off. */
export interface Setup {
  /** How long a model call takes. Default 0. */
  readonly modelMs?: number
  readonly concurrency?: number
  readonly durability?: 'turn'
  readonly onUnknownOutcome?: 'tell-model'
  readonly onFailedTurn?: 'rewind'
  readonly onDefinitionChange?: 'pin' | 'refuse'
  /** Sessions expire when nothing has happened in them for so long. */
  readonly idleMs?: number
  readonly maxActive?: number
  readonly maxSteps?: number
  /** Tokens that one turn may use; each model call takes some. */
  readonly maxTokens?: number
  /** Dollars that one turn may cost. Then each model has a price. */
  readonly maxCost?: string
  /** Whoever answers approvals is asked before a turn ends for want of tokens or money. */
  readonly asksForMore?: true
  /** How long one turn may take. */
  readonly maxMs?: number
  readonly compaction?: 'in-turn' | 'after-turn'
  readonly orchestration?: true
  /** What models are sent is recorded. */
  readonly records?: true
  /** Blocks each call of `look`. */
  readonly guardrail?: 'block' | 'halt' | 'throw' | 'wait'
  readonly hooks?: readonly HookPlan[]
}

/** Hook of an extension in which a program acts. */
export type PlannedHook = 'beforeAgentStart' | 'onTurnStart' | 'onStepEnd' | 'onToolCall' | 'onAgentEnd' | 'onSavePoint'

/** Action of a program in one hook. */
export interface HookPlan {
  readonly hook: PlannedHook
  /** Throws, or stays open for so long. */
  readonly does: 'throw' | number
  /** How the extension handles the error. Default `ignore`. */
  readonly onError?: 'fail'
  /** How many of its calls, from the first one on, are disturbed. Default: all. */
  readonly times?: number
}

/** Answers of the model to an input, one per call. After the last one the model ends the turn with a text. */
export type Plan = readonly PlannedAnswer[]

/** One answer of the model: tool calls, or a failure of the provider. */
export type PlannedAnswer =
  | { readonly calls: readonly PlannedCall[] }
  /** The provider fails: at the first try, or at each one. */
  | { readonly fails: 'once' | 'always' }

/** Tool that a program calls. Each has other effects, questions or waiting times. */
export type PlannedTool =
  | 'pay'
  | 'bill'
  | 'index'
  | 'look'
  | 'ask'
  | 'askSoon'
  | 'place'
  | 'placeSoon'
  | 'output'
  | 'cancel'

/** One tool call of a planned answer, or a delegation to the subagent. */
export type PlannedCall =
  | { readonly tool: PlannedTool; readonly ms?: number; readonly throws?: true }
  /** Hands a plan to the subagent. */
  | { readonly delegate: Plan; readonly background?: true }

/** Key of a session in a program. */
export type ProgramSession = 'a' | 'b'

/** An input that a client sends to a session, with the plan of the model. */
export interface PlannedInput {
  readonly to: ProgramSession
  /** Inputs with equal names are sent under one id. */
  readonly name: string
  readonly plan?: Plan
}

type ClientStep =
  | ({ readonly do: 'send'; readonly onBusy?: OnBusy; readonly notBeforeMs?: number; readonly mode?: 'synchronized' } & PlannedInput)
  | ({ readonly do: 'steer' | 'follow-up' } & PlannedInput)
  | ({ readonly do: 'overlay'; readonly turns?: number } & PlannedInput)
  /** Plans the input for a time to come: that of a schedule. */
  | ({ readonly do: 'schedule'; readonly inMs: number } & PlannedInput)
  | { readonly do: 'stop'; readonly to: ProgramSession; readonly scope?: 'all'; readonly waitMs?: number }
  | { readonly do: 'kill' | 'delete' | 'compact' | 'fork' | 'label'; readonly to: ProgramSession }
  /** Takes up the newest open run, as a host does that knows its id. */
  | { readonly do: 'resume'; readonly to: ProgramSession }
  /** Imports what the session exports, under another key. */
  | { readonly do: 'copy'; readonly to: ProgramSession; readonly as: 'b' | 'c'; readonly allBranches?: true }
  | { readonly do: 'switch'; readonly to: ProgramSession; readonly summarize?: true; readonly back: number }
  /** Answers what the session asks: approvals are decided, calls are answered, doubts are settled. */
  | { readonly do: 'answer'; readonly to: ProgramSession; readonly how: AnswerKind }
  /** Follows the log, or the newest run, from an event on; it waits for so many turns of the store behind each event. */
  | { readonly do: 'read'; readonly to: ProgramSession; readonly from: number; readonly lag: number; readonly run?: true }

/** Answer of clients to questions. `again`: approve twice. `one`: answer only the first question. `edited`: approve with another input. */
export type AnswerKind = 'yes' | 'no' | 'again' | 'one' | 'edited' | 'run-again'

type WorldStep =
  /** Lets so much time pass. */
  | { readonly do: 'pass'; readonly ms: number }
  /** Sets the clock, without time passing. */
  | { readonly do: 'set-clock'; readonly byMs: number }
  | { readonly do: 'sweep' }
  /** Has the runtime do what there is to do, for at most so long. */
  | { readonly do: 'drain'; readonly ms: number }
  /** Stops the runtime, and starts one with this definition of the agents. */
  | { readonly do: 'restart'; readonly definition?: number; readonly graceMs?: number }

/** One action of a client or of the environment. */
export type ProgramStep = (ClientStep | WorldStep) & {
  /** How many turns of the store come before the next step. Default: until nothing happens any more without time. */
  readonly turns?: number
}

/**
 * A crash at the n-th operation of the store, counted over the whole program. `kill`: the process dies before or after it.
 * `lost`: the answer is lost. `outage`: no process reaches the store for `ms`. `freeze`: the process stops until another one has taken over. `unrenewed`: each renewal of
 * leases by this process fails for a minute; `never-renewed`: for good. `kill-in-tool` and `freeze-in-tool` count effects of
 * tools instead: the process dies or stops right after the n-th one.
 */
export interface ProgramCrash {
  readonly at: number
  readonly how: 'kill' | 'kill-behind' | 'lost' | 'lost-behind' | 'outage' | 'freeze' | 'unrenewed' | 'never-renewed' | 'kill-in-tool' | 'freeze-in-tool'
  /** How long a frozen process stops if no other one takes over: default 15,000, longer than the lease of a run. Of an outage: default 4,000. */
  readonly ms?: number
}

/** Names of the features that a program may use. */
export const programFeatures = [
  'steering',
  'follow-ups',
  'interrupts',
  'overlays',
  'synchronized',
  'not-before',
  'schedules',
  'duplicates',
  'tools',
  'failing-tools',
  'approvals',
  'remote-tools',
  'subagents',
  'background',
  'hooks',
  'guardrails',
  'provider-failures',
  'compaction',
  'limits',
  'costs',
  'orchestration',
  'tree',
  'copies',
  'stops',
  'kills',
  'deletion',
  'expiry',
  'sweeps',
  'clock-jumps',
  'readers',
  'slow-models',
  'restarts',
  'resumes',
  'definition-changes',
  'crashes',
] as const

/** Name of a feature that programs may use, as `programFeatures` lists them. */
export type Feature = (typeof programFeatures)[number]
