import { messageOf } from '../../base/agent-error.ts'
import { optional } from '../../base/fields.ts'
import { snapshot } from '../../base/json.ts'
import { settleWithin } from '../../base/promises.ts'
import type { GuardedCall, GuardedResult, Guardrail, GuardrailContext } from '../../contract/guardrail.ts'
import type { TurnStatus } from '../../events/turn-events.ts'
import { foldDecisions, readDecision } from './decisions.ts'
import type { Action, Decided, GuardrailVerdict } from './decisions.ts'
import { loopGuardRunner } from './loop-guard-runner.ts'
import { loopWatchOf } from './loop-guard.ts'
import type { ActionAfter, GuardrailHandler, GuardrailRunner, GuardrailRunnerOptions } from './runner.ts'

const timeoutMs = 5_000
const actionsBefore = ['allow', 'warn', 'block', 'halt'] as const
const actionsAfter = ['allow', 'warn', 'halt'] as const

export function guardrailRunner(options: GuardrailRunnerOptions): GuardrailRunner {
  const [first, ...others] = options.guardrails
  const watch = first && others.length === 0 ? loopWatchOf(first) : undefined
  return first && watch ? loopGuardRunner(first.name, watch, options.onError) : new TurnGuardrails(options)
}

class TurnGuardrails implements GuardrailRunner {
  readonly #options: GuardrailRunnerOptions
  readonly #states: ReadonlyMap<Guardrail, Record<string, unknown>>
  /** The guardrail that blocked a call, until its `afterCall`. */
  readonly #refusedBy = new Map<string, string>()
  readonly #listeners = new Map<GuardrailHandler, readonly Guardrail[]>()

  constructor(options: GuardrailRunnerOptions) {
    this.#options = options
    this.#states = new Map(options.guardrails.map((guardrail) => [guardrail, {}]))
  }

  has(...handlers: readonly GuardrailHandler[]): boolean {
    return handlers.some((handler) => this.#having(handler).some((guardrail) => !loopWatchOf(guardrail)))
  }

  onTurnStart(resumed = false): Promise<void> {
    return this.#tell('onTurnStart', (guardrail, context) => guardrail.onTurnStart?.(Object.freeze({ ...context, resumed })))
  }

  onTurnEnd(status: TurnStatus): Promise<void> {
    return this.#tell('onTurnEnd', (guardrail, context) => guardrail.onTurnEnd?.(Object.freeze({ ...context, status })))
  }

  async beforeCall(given: GuardedCall): Promise<GuardrailVerdict<Action | 'stopped'>> {
    const call = snapshot(given)
    const decisions: Decided[] = []
    for (const guardrail of this.#having('beforeCall')) {
      const work = (context: GuardrailContext): unknown => guardrail.beforeCall?.(call, context)
      const decided = await this.#ask(guardrail, 'beforeCall', actionsBefore, work)
      if (decided === 'stopped') return { action: 'stopped', warnings: [] }
      decisions.push(decided)
      if (decided.action === 'halt') break
    }
    const verdict = foldDecisions(decisions)
    if (verdict.action === 'block' && verdict.guardrail !== undefined) this.#refusedBy.set(call.toolCallId, verdict.guardrail)
    return verdict
  }

  async afterCall(given: GuardedCall, outcome: Omit<GuardedResult, 'refusedBy'>): Promise<GuardrailVerdict<ActionAfter>> {
    const call = snapshot(given)
    const refusedBy = this.#refusedBy.get(call.toolCallId)
    this.#refusedBy.delete(call.toolCallId)
    const result = snapshot({ ...outcome, ...optional('refusedBy', refusedBy) })
    const decisions: Decided<ActionAfter>[] = []
    for (const guardrail of this.#having('afterCall')) {
      const work = (context: GuardrailContext): unknown => guardrail.afterCall?.(call, result, context)
      const decided = await this.#ask(guardrail, 'afterCall', actionsAfter, work)
      if (decided === 'stopped') continue
      decisions.push(decided)
      if (decided.action === 'halt') break
    }
    return foldDecisions(decisions)
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
      work(Object.freeze({ ...contextOf(), state: this.#states.get(guardrail) ?? {} })),
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

/** A failed guardrail blocks where that is possible, unless it is told to allow. */
function insteadOf<Each extends Action>(guardrail: Guardrail, message: string, allowed: readonly Each[]): Decided<Each | 'allow'> {
  const { name, onError = 'block' } = guardrail
  const block = onError === 'block' ? allowed.find((action) => action === 'block') : undefined
  return { guardrail: name, action: block ?? 'allow', reason: `the guardrail ${name} failed: ${message}`, code: 'guardrail-failed' }
}
