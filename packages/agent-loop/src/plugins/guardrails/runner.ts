import type { Clock } from '@bowline/llm'
import type { MaybePromise } from '../../base/promises.ts'
import type { GuardedCall, GuardedResult, Guardrail, GuardrailContext } from '../../contract/guardrail.ts'
import type { TurnStatus } from '../../events/turn-events.ts'
import type { Action, GuardrailVerdict } from './decisions.ts'

export interface GuardrailRunnerOptions {
  /** In the order in which they are asked. */
  readonly guardrails: readonly Guardrail[]
  readonly clock: Clock
  /** The run's. Aborting it ends the wait for a guardrail. */
  readonly abortSignal: AbortSignal
  /** Latest end of a run that is being stopped, epoch ms; undefined otherwise. */
  readonly stopDeadline?: () => number | undefined
  readonly contextOf: () => Omit<GuardrailContext, 'state'>
  /** Told of each failure, none of which ends the turn. Must not throw. */
  readonly onError: (failure: GuardrailFailure) => void
}

export interface GuardrailFailure {
  readonly guardrail: string
  readonly hook: GuardrailHandler
  readonly message: string
}

/** The guardrails of one turn, each with a state of its own. No method throws or rejects. */
export interface GuardrailRunner {
  /**
   * Whether code from outside has one of these. The loop guard does not count: it looks at nothing but its counters, so
   * nothing need be stored before it is asked.
   */
  has(...handlers: readonly GuardrailHandler[]): boolean
  onTurnStart(resumed?: boolean): Promise<void>
  onTurnEnd(status: TurnStatus): Promise<void>
  /**
   * All are asked, up to the first `halt`. The caller keeps the warnings with the call. `stopped`: the end of the run
   * came first, and the call has not been allowed.
   */
  beforeCall(call: GuardedCall): MaybePromise<GuardrailVerdict<Action | 'stopped'>>
  /** To be called once for every outcome, those of refused calls included. `warnings` are those given after the call. */
  afterCall(call: GuardedCall, result: Omit<GuardedResult, 'refusedBy'>): MaybePromise<GuardrailVerdict<ActionAfter>>
}

export type ActionAfter = Exclude<Action, 'block'>

export type GuardrailHandler = 'onTurnStart' | 'onTurnEnd' | 'beforeCall' | 'afterCall'
