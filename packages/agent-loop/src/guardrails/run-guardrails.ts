import type { Clock } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import type { TurnStatus } from '../events/types.ts'
import { optional } from '../extensions/fields.ts'
import { snapshot } from '../extensions/snapshot.ts'
import { settleWithin } from '../time-limit.ts'
import { foldDecisions, readDecision } from './decisions.ts'
import type { Action, Decided, GuardrailVerdict } from './decisions.ts'
import type { Decision, GuardedCall, GuardedResult, Guardrail, GuardrailContext } from './guardrail.ts'
import { loopWatchOf } from './loop-guard.ts'

export type { GuardrailVerdict } from './decisions.ts'

export interface GuardrailRunnerOptions {
  /** In the order in which they are asked. */
  readonly guardrails: readonly Guardrail[]
  readonly clock: Clock
  /** The run's. Aborting it ends the wait for a guardrail. */
  readonly abortSignal: AbortSignal
  /** Of a run that is being stopped: when it must have ended. */
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
   * All are asked, up to the first `halt`. Warnings are kept until the call's `afterCall`. `stopped`: the end of the
   * run came first, and nobody has allowed the call.
   */
  beforeCall(call: GuardedCall): Promise<GuardrailVerdict<Action | 'stopped'>>
  /**
   * To be called once for every outcome, those of refused calls included. `warnings` are all of the call, also those
   * from before it ran.
   */
  afterCall(call: GuardedCall, result: Omit<GuardedResult, 'refusedBy'>): Promise<GuardrailVerdict<ActionAfter>>
}

type ActionAfter = Exclude<Action, 'block'>
export type GuardrailHandler = 'onTurnStart' | 'onTurnEnd' | 'beforeCall' | 'afterCall'

/** What is known of a call between its two handlers. */
interface CallNotes {
  readonly warnings: readonly string[]
  readonly refusedBy: string | undefined
}

const timeoutMs = 5_000
const actionsBefore = ['allow', 'warn', 'block', 'halt'] as const
const actionsAfter = ['allow', 'warn', 'halt'] as const

export function guardrailRunner(options: GuardrailRunnerOptions): GuardrailRunner {
  return new TurnGuardrails(options)
}

class TurnGuardrails implements GuardrailRunner {
  readonly #options: GuardrailRunnerOptions
  readonly #states: ReadonlyMap<Guardrail, Record<string, unknown>>
  readonly #notes = new Map<string, CallNotes>()
  readonly #listeners = new Map<GuardrailHandler, readonly Guardrail[]>()
  /** Nobody else looks at the calls. */
  readonly #onlyWatches: boolean

  constructor(options: GuardrailRunnerOptions) {
    this.#options = options
    this.#states = new Map(options.guardrails.map((guardrail) => [guardrail, {}]))
    this.#onlyWatches = options.guardrails.every((guardrail) => loopWatchOf(guardrail) !== undefined)
  }

  has(...handlers: readonly GuardrailHandler[]): boolean {
    if (this.#onlyWatches) return false
    return handlers.some((handler) => this.#having(handler).some((guardrail) => !loopWatchOf(guardrail)))
  }

  onTurnStart(resumed = false): Promise<void> {
    return this.#tell('onTurnStart', (guardrail, context) => guardrail.onTurnStart?.(Object.freeze({ ...context, resumed })))
  }

  onTurnEnd(status: TurnStatus): Promise<void> {
    return this.#tell('onTurnEnd', (guardrail, context) => guardrail.onTurnEnd?.(Object.freeze({ ...context, status })))
  }

  async beforeCall(given: GuardedCall): Promise<GuardrailVerdict<Action | 'stopped'>> {
    const call = this.#shown(given)
    const decisions: Decided[] = []
    for (const guardrail of this.#having('beforeCall')) {
      const watch = loopWatchOf(guardrail)
      const decided = watch
        ? complete(guardrail, watch.beforeCall(this.#stateOf(guardrail), call))
        : await this.#ask(guardrail, 'beforeCall', actionsBefore, (context) => guardrail.beforeCall?.(call, context))
      if (decided === 'stopped') return { action: 'stopped', warnings: [] }
      decisions.push(decided)
      if (decided.action === 'halt') break
    }
    const verdict = foldDecisions(decisions)
    const { action, warnings } = verdict
    this.#notes.set(call.toolCallId, { warnings, refusedBy: action === 'block' ? verdict.guardrail : undefined })
    return verdict
  }

  async afterCall(given: GuardedCall, outcome: Omit<GuardedResult, 'refusedBy'>): Promise<GuardrailVerdict<ActionAfter>> {
    const call = this.#shown(given)
    const notes = this.#notes.get(call.toolCallId)
    this.#notes.delete(call.toolCallId)
    const result = this.#shown({ ...outcome, ...optional('refusedBy', notes?.refusedBy) })
    const decisions: Decided<ActionAfter>[] = []
    for (const guardrail of this.#having('afterCall')) {
      const watch = loopWatchOf(guardrail)
      const decided = watch
        ? complete(guardrail, watch.afterCall(this.#stateOf(guardrail), call, result))
        : await this.#ask(guardrail, 'afterCall', actionsAfter, (context) => guardrail.afterCall?.(call, result, context))
      if (decided === 'stopped') continue
      decisions.push(decided)
      if (decided.action === 'halt') break
    }
    return foldDecisions(decisions, notes?.warnings)
  }

  /** Code from outside might change what it is given, or keep it. */
  #shown<Value>(given: Value): Value {
    return this.#onlyWatches ? given : snapshot(given)
  }

  #stateOf(guardrail: Guardrail): Record<string, unknown> {
    return this.#states.get(guardrail) ?? {}
  }

  #having(handler: GuardrailHandler): readonly Guardrail[] {
    const known = this.#listeners.get(handler)
    if (known) return known
    const found = this.#options.guardrails.filter((guardrail) => guardrail[handler] !== undefined)
    this.#listeners.set(handler, found)
    return found
  }

  async #tell(handler: GuardrailHandler, work: (guardrail: Guardrail, context: GuardrailContext) => unknown): Promise<void> {
    for (const guardrail of this.#having(handler)) {
      await this.#read(guardrail, handler, (context) => work(guardrail, context), () => undefined, () => undefined)
    }
  }

  #ask<Each extends Action>(
    guardrail: Guardrail,
    handler: GuardrailHandler,
    allowed: readonly Each[],
    work: (context: GuardrailContext) => unknown,
  ): Promise<Decided<Each | 'allow'> | 'stopped'> {
    const read = (returned: unknown): Decided<Each | 'allow'> => readDecision(guardrail.name, returned, allowed)
    return this.#read(guardrail, handler, work, read, (message) => insteadOf(guardrail, message, allowed))
  }

  /** Waits for one handler. What fails is told, and `otherwise` stands in for it. */
  async #read<Value>(
    guardrail: Guardrail,
    hook: GuardrailHandler,
    work: (context: GuardrailContext) => unknown,
    read: (returned: unknown) => Value,
    otherwise: (message: string) => Value,
  ): Promise<Value | 'stopped'> {
    const { clock, abortSignal, stopDeadline, contextOf, onError } = this.#options
    const settled = await settleWithin({ clock, abortSignal, stopDeadline, timeoutMs }, () =>
      work(Object.freeze({ ...contextOf(), state: this.#stateOf(guardrail) })),
    )
    if (settled.kind === 'stopped') return 'stopped'
    try {
      if (settled.kind === 'value') return read(settled.value)
      throw settled.kind === 'failed' ? settled.error : new Error(`no answer within ${timeoutMs} ms`)
    } catch (error) {
      const message = messageOf(error)
      onError(Object.freeze({ guardrail: guardrail.name, hook, message }))
      return otherwise(message)
    }
  }
}

function complete<Each extends Action>({ name }: Guardrail, decision: Decision<Each>): Decided<Each | 'allow'> {
  return { guardrail: name, reason: '', action: 'allow', ...decision }
}

/** A failed guardrail blocks where that is possible, unless it is told to allow. */
function insteadOf<Each extends Action>(guardrail: Guardrail, message: string, allowed: readonly Each[]): Decided<Each | 'allow'> {
  const { name, onError = 'block' } = guardrail
  const block = onError === 'block' ? allowed.find((action) => action === 'block') : undefined
  return { guardrail: name, action: block ?? 'allow', reason: `the guardrail ${name} failed: ${message}`, code: 'guardrail-failed' }
}
