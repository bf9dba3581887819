import type { Clock } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { fieldsOf, optional, refuse, text } from '../../base/fields.ts'
import { snapshot } from '../../base/json.ts'
import { settleWithin, valueInTime } from '../../base/promises.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { GuardedCall, GuardedResult, Guardrail, GuardrailContext } from '../../contract/guardrail.ts'
import type { TurnStatus } from '../../events/turn-events.ts'
import { loopWatchOf } from './loop-guard.ts'
import type { LoopWatch } from './loop-guard.ts'

interface GuardrailRunnerOptions {
  /** In the order in which they are asked. */
  readonly guardrails: readonly Guardrail[]
  readonly clock: Clock
  /** Signal of the run. Aborting it ends the wait for a guardrail. */
  readonly abortSignal: AbortSignal
  /** Latest end of a run that is being stopped, epoch ms; undefined otherwise. */
  readonly stopDeadline?: () => number | undefined
  readonly contextOf: () => Omit<GuardrailContext, 'state'>
  /** Called for each failure; none ends the turn. Must not throw. */
  readonly onError: (failure: GuardrailFailure) => void
}

export interface GuardrailFailure {
  readonly guardrail: string
  readonly hook: GuardrailHandler
  readonly message: string
}

/** The guardrails of one turn, each with a state of its own. No method throws or rejects. */
export interface GuardrailRunner {
  onTurnStart(resumed?: boolean): Promise<void>
  onTurnEnd(status: TurnStatus): Promise<void>
  /**
   * Asks all guardrails, up to the first `halt`. The caller keeps the warnings with the call. `stopped`: the run ended first, and
   * the call has not been allowed.
   */
  beforeCall(call: GuardedCall): MaybePromise<GuardrailVerdict<Action | 'stopped'>>
  /** Must be called once for every outcome, also for refused calls. `warnings` are those given after the call. */
  afterCall(call: GuardedCall, result: Omit<GuardedResult, 'refusedBy'>): MaybePromise<GuardrailVerdict<ActionAfter>>
}

type ActionAfter = Exclude<Action, 'block'>

export type GuardrailHandler = 'onTurnStart' | 'onTurnEnd' | 'beforeCall' | 'afterCall'

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

  constructor(options: GuardrailRunnerOptions) {
    this.#options = options
    this.#states = new Map(options.guardrails.map((guardrail) => [guardrail, {}]))
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
    return this.#options.guardrails.filter((guardrail) => guardrail[handler] !== undefined)
  }

  async #tell(handler: GuardrailHandler, work: (guardrail: Guardrail, context: GuardrailContext) => unknown): Promise<void> {
    for (const guardrail of this.#having(handler)) {
      await this.#read(
        guardrail,
        handler,
        (context) => work(guardrail, context),
        () => undefined,
        () => undefined,
      )
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

  /** Waits for one handler. A failure is reported, and `otherwise` gives the value instead. */
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
      return read(valueInTime(settled, timeoutMs))
    } catch (error) {
      const message = messageOf(error)
      onError(Object.freeze({ guardrail: guardrail.name, hook, message }))
      return otherwise(message)
    }
  }
}

/** Returns the decision of a failed guardrail: block where that is possible, unless its `onError` is `allow`. */
function insteadOf<Each extends Action>(guardrail: Guardrail, message: string, allowed: readonly Each[]): Decided<Each | 'allow'> {
  const { name, onError = 'block' } = guardrail
  const block = onError === 'block' ? allowed.find((action) => action === 'block') : undefined
  return { guardrail: name, action: block ?? 'allow', reason: `the guardrail ${name} failed: ${message}`, code: 'guardrail-failed' }
}

const nothingSaid: GuardrailVerdict<'allow'> = Object.freeze({ action: 'allow', warnings: Object.freeze([]) })

/**
 * Runner for an agent whose only guardrail is the loop guard, as most agents have it. A guardrail that only counts needs no copies
 * of its arguments, no time limit, and no promise.
 */
function loopGuardRunner(guardrail: string, watch: LoopWatch, onError: GuardrailRunnerOptions['onError']): GuardrailRunner {
  const state = {}
  const blocked = new Set<string>()
  const failed = (hook: 'beforeCall' | 'afterCall', error: unknown): string => {
    const message = messageOf(error)
    onError(Object.freeze({ guardrail, hook, message }))
    return `the guardrail ${guardrail} failed: ${message}`
  }
  return {
    onTurnStart: () => Promise.resolve(),
    onTurnEnd: () => Promise.resolve(),
    beforeCall(call) {
      try {
        const decision = watch.beforeCall(state, call)
        if (!decision) return nothingSaid
        blocked.add(call.toolCallId)
        return { ...decision, guardrail, warnings: [] }
      } catch (error) {
        blocked.add(call.toolCallId)
        return { action: 'block', guardrail, reason: failed('beforeCall', error), code: 'guardrail-failed', warnings: [] }
      }
    },
    afterCall(call, outcome) {
      const isBlocked = blocked.delete(call.toolCallId)
      try {
        const decision = watch.afterCall(state, call, isBlocked ? { ...outcome, refusedBy: guardrail } : outcome)
        if (decision?.action === 'halt') return { ...decision, action: 'halt', guardrail, warnings: [] }
        return decision ? { action: 'warn', warnings: [decision.reason ?? ''] } : nothingSaid
      } catch (error) {
        failed('afterCall', error)
        return nothingSaid
      }
    },
  }
}

export type Action = 'allow' | 'warn' | 'block' | 'halt'

/** The decision of one guardrail, with all fields filled in. */
interface Decided<Each extends Action = Action> {
  readonly guardrail: string
  readonly action: Each
  readonly reason: string
  readonly code?: string
}

/** The combined decision of all guardrails. `guardrail`, `reason` and `code` are those of the guardrail that blocked or halted. */
export interface GuardrailVerdict<Each extends string = Action> {
  readonly action: Each
  readonly guardrail?: string
  readonly reason?: string
  readonly code?: string
  /** For the model, appended to the output of the call. */
  readonly warnings: readonly string[]
}

/** Reads the decision of a handler. Throws if the handler may not return it. */
function readDecision<Each extends Action>(guardrail: string, returned: unknown, allowed: readonly Each[]): Decided<Each | 'allow'> {
  const fields = fieldsOf(returned, ['action', 'reason', 'code']) ?? { action: 'allow' }
  const action = allowed.find((each) => each === fields['action'])
  if (action === undefined) return refuse(`must have an action of ${allowed.join(', ')}`)
  const code = text(fields, 'code')
  const reason = text(fields, 'reason') ?? code ?? `the guardrail ${guardrail} gave no reason`
  return { guardrail, action, reason, ...optional('code', code) }
}

/** The first halt wins, else the first block; warnings add up. */
function foldDecisions<Each extends Action>(decisions: readonly Decided<Each>[]): GuardrailVerdict<Each | 'allow' | 'warn'> {
  const warnings = decisions.filter(({ action }) => action === 'warn').map(({ reason }) => reason)
  const ruling = decisions.find(({ action }) => action === 'halt') ?? decisions.find(({ action }) => action === 'block')
  return ruling ? { ...ruling, warnings } : { action: warnings.length > 0 ? 'warn' : 'allow', warnings }
}
