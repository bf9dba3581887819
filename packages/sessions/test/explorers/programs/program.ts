import type { OnBusy } from '../../../src/commands/types.ts'

/**
 * A program: actions of clients on a runtime, one after the other, and the points at which its processes are disturbed. It is
 * plain data, so that a failing one can be shrunk and printed.
 */
export interface Program {
  /** Seed for the order in which the store answers, and for all other random choices during the run. */
  readonly seed: number
  readonly setup: Setup
  readonly steps: readonly ProgramStep[]
  readonly crashes: readonly ProgramCrash[]
}

/** Options of the agents and runtimes of a program. An absent option has its default or is off. */
export interface Setup {
  /** Duration of a model call in ms. Default 0. */
  readonly modelMs?: number
  readonly concurrency?: number
  readonly durability?: 'turn'
  readonly onUnknownOutcome?: 'tell-model'
  readonly onFailedTurn?: 'rewind'
  readonly onDefinitionChange?: 'pin' | 'refuse'
  /** Idle timeout of sessions in ms. */
  readonly idleMs?: number
  readonly maxActive?: number
  readonly maxSteps?: number
  /** Limit of the tokens of one turn. Each model call uses some. */
  readonly maxTokens?: number
  /** Limit of the cost of one turn in dollars. Gives each model a price. */
  readonly maxCost?: string
  /** Asks for approval of more budget before a turn ends at its limit of tokens or cost. */
  readonly asksForMore?: true
  /** Limit of the duration of one turn in ms. */
  readonly maxMs?: number
  readonly compaction?: 'in-turn' | 'after-turn'
  readonly orchestration?: true
  /** Records the requests to models. */
  readonly records?: true
  /** Has a webhook whose receiver refuses each request. */
  readonly webhook?: true
  /** Action of the guardrail on each call of `look`. */
  readonly guardrail?: 'block' | 'halt' | 'throw' | 'wait'
  readonly hooks?: readonly HookPlan[]
}

/** Hook of an extension in which a program acts. */
export type PlannedHook = 'beforeAgentStart' | 'onTurnStart' | 'onStepEnd' | 'onToolCall' | 'onAgentEnd' | 'onSavePoint'

/** Action of a program in one hook. */
export interface HookPlan {
  readonly hook: PlannedHook
  /** Throws, or takes this number of ms. */
  readonly does: 'throw' | number
  /** Handling of the error by the extension. Default `ignore`. */
  readonly onError?: 'fail'
  /** Number of its calls that are disturbed, from the first one on. Default: all. */
  readonly times?: number
}

/** Answers of the model to an input, one per call. After the last one the model ends the turn with a text. */
export type Plan = readonly PlannedAnswer[]

/** One answer of the model: tool calls, or a failure of the provider. */
export type PlannedAnswer =
  | { readonly calls: readonly PlannedCall[] }
  /** The provider fails at the first try, or at each one. */
  | { readonly fails: 'once' | 'always' }

/** Tool that a program calls. Tools differ in effect, approvals and deadlines. */
export type PlannedTool = 'pay' | 'bill' | 'index' | 'look' | 'ask' | 'askSoon' | 'place' | 'placeSoon' | 'output' | 'cancel'

/** One tool call of a planned answer, or a delegation to the subagent. */
export type PlannedCall =
  | { readonly tool: PlannedTool; readonly ms?: number; readonly throws?: true }
  /** Delegates a plan to the subagent. */
  | { readonly delegate: Plan; readonly background?: true }

/** Key of a session in a program. */
export type ProgramSession = 'a' | 'b'

/** An input that a client sends to a session, with the plan of the model. */
export interface PlannedInput {
  readonly to: ProgramSession
  /** Name of the input. Inputs with equal names are sent under one id. */
  readonly name: string
  readonly plan?: Plan
}

type ClientStep =
  /** `overlay`: the reader of the synchronized run gives an overlay at its first step-end. */
  | ({
      readonly do: 'send'
      readonly onBusy?: OnBusy
      readonly notBeforeMs?: number
      readonly mode?: 'synchronized'
      readonly overlay?: true
    } & PlannedInput)
  | ({ readonly do: 'steer' | 'follow-up' } & PlannedInput)
  | ({ readonly do: 'overlay'; readonly turns?: number } & PlannedInput)
  /** Schedules the input for a later time. */
  | ({ readonly do: 'schedule'; readonly inMs: number } & PlannedInput)
  | { readonly do: 'stop'; readonly to: ProgramSession; readonly scope?: 'all'; readonly waitMs?: number }
  | { readonly do: 'kill' | 'delete' | 'compact' | 'label'; readonly to: ProgramSession }
  /** `amidList`: between the first and the second page of a list of sessions. */
  | { readonly do: 'fork'; readonly to: ProgramSession; readonly amidList?: true }
  /** Resumes the newest open run, as a host does that knows its id. */
  | { readonly do: 'resume'; readonly to: ProgramSession }
  /** Exports the session and imports it under another key. */
  | { readonly do: 'copy'; readonly to: ProgramSession; readonly as: 'b' | 'c'; readonly allBranches?: true }
  | { readonly do: 'switch'; readonly to: ProgramSession; readonly summarize?: true; readonly back: number }
  /** Answers the questions of the session: approvals, remote calls and unknown outcomes. */
  | { readonly do: 'answer'; readonly to: ProgramSession; readonly how: AnswerKind }
  /** Follows the log from an event on, or the newest run. After each event it waits for `lag` turns of the store. */
  | { readonly do: 'read'; readonly to: ProgramSession; readonly from: number; readonly lag: number; readonly run?: true }

/** Answer of clients to questions. `again`: approve twice. `one`: answer only the first question. `edited`: approve with another input. */
export type AnswerKind = 'yes' | 'no' | 'again' | 'one' | 'edited' | 'run-again'

type WorldStep =
  /** Lets this time pass. */
  | { readonly do: 'pass'; readonly ms: number }
  /** Sets the clock. No time passes. */
  | { readonly do: 'set-clock'; readonly byMs: number }
  | { readonly do: 'sweep' }
  /** Calls `drain` with this time limit. */
  | { readonly do: 'drain'; readonly ms: number }
  /** Stops the runtime, and starts one with this version of the agents. */
  | { readonly do: 'restart'; readonly definition?: number; readonly graceMs?: number }

/** One action of a client or of the environment. */
export type ProgramStep = (ClientStep | WorldStep) & {
  /** Number of turns of the store before the next step. Default: until nothing more happens without time passing. */
  readonly turns?: number
}

/**
 * A crash at the n-th operation of the store, counted over the whole program. `kill`: the process dies before the operation;
 * `kill-after`: after it. `lost`: the operation is lost; `lost-after`: its answer is lost. `outage`: no process reaches the store
 * for `ms`. `freeze`: the process stops until another one has taken over. `unrenewed`: each renewal of leases by this process
 * fails for a minute; `never-renewed`: forever. `kill-in-tool` and `freeze-in-tool` count effects of tools instead: the process
 * dies or stops right after the n-th effect.
 */
export interface ProgramCrash {
  readonly at: number
  readonly how:
    | 'kill'
    | 'kill-after'
    | 'lost'
    | 'lost-after'
    | 'outage'
    | 'freeze'
    | 'unrenewed'
    | 'never-renewed'
    | 'kill-in-tool'
    | 'freeze-in-tool'
  /** Duration in ms. For a freeze without a takeover: default 15,000, longer than the lease of a run. For an outage: default 4,000. */
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
