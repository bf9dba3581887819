import type { Clock } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { snapshot } from '../../base/json.ts'
import { isThenable, settleWithin, valueInTime } from '../../base/promises.ts'
import type { Settled } from '../../base/promises.ts'
import type { Extension, ExtensionContext, HookName, Hooks } from '../../contract/extension.ts'
import type { AgentEvent } from '../../events/agent-event.ts'
import { isDelta } from '../../events/kinds.ts'

interface HandlerCallsOptions {
  /** In the order in which their hooks run. */
  readonly extensions: readonly Extension[]
  readonly clock: Clock
  /** Signal of the run. Aborting it ends the wait for a hook. */
  readonly abortSignal: AbortSignal
  /** Latest end of a run that is being stopped, epoch ms; undefined otherwise. */
  readonly stopDeadline?: () => number | undefined
  /** Returns true once the turn has ended: later failures cannot end it. Default: it has not ended. */
  readonly hasEnded?: () => boolean
  readonly contextOf: (extension: Extension) => ExtensionContext
  /** Called for each failure. `fatal`: the turn must end as `error` with `extension-error`. Must not throw. */
  readonly onError: (failure: HookFailure) => void
}

export interface HookFailure {
  readonly extension: string
  readonly hook: HookName
  readonly message: string
  readonly fatal: boolean
}

/** Hooks that are awaited. */
type AwaitedHook = Exclude<HookName, 'onEvent'>
export type HookEvent<Name extends HookName> = Parameters<NonNullable<Hooks[Name]>>[0]

/** One question to all handlers of a hook. */
interface Question<Name extends AwaitedHook> {
  /** Returns the event for the next handler, with the changes of the handlers before it. */
  readonly event: () => HookEvent<Name>
  /** Reads what the handler returned. Throws if it is invalid. */
  readonly take: (returned: unknown, extension: Extension) => Next | Promise<Next>
  /** Called after a failure. Default: the chain continues. */
  readonly failed?: (failure: HookFailure, extension: Extension) => Next
  /** Called if the end of the run cut off the wait. Default: the chain continues. */
  readonly stopped?: () => Next
  /** True: after an abort the handler still has the time that the run has left. */
  readonly patient?: true
}

type Next = 'go-on' | 'end'

const defaultTimeoutMs = 5_000

/** Calls handlers in list order. No method throws or rejects, whatever the handlers do. */
export class HandlerCalls {
  readonly #options: HandlerCallsOptions
  readonly #brokenObservers = new Set<Extension>()
  readonly #listeners = new Map<HookName, readonly Extension[]>()

  constructor(options: HandlerCallsOptions) {
    this.#options = options
  }

  listeners(hook: HookName): readonly Extension[] {
    const known = this.#listeners.get(hook)
    if (known) return known
    const found = this.#options.extensions.filter(({ hooks }) => hooks[hook] !== undefined)
    this.#listeners.set(hook, found)
    return found
  }

  /** Calls a hook that returns nothing. */
  tell<Name extends AwaitedHook>(hook: Name, event: HookEvent<Name>): Promise<void> {
    return this.ask(hook, { event: () => event, take: () => 'go-on' })
  }

  async ask<Name extends AwaitedHook>(hook: Name, question: Question<Name>): Promise<void> {
    for (const extension of this.listeners(hook)) {
      const next = await this.#next(hook, extension, question)
      if (next === 'end') return
    }
  }

  /**
   * Shows an event to observers without waiting. Reports one failure per observer only, because the report is an event that the
   * observer sees too.
   */
  show(event: AgentEvent): void {
    const delta = isDelta(event)
    for (const extension of this.listeners('onEvent')) {
      if (delta && extension.deltas !== true) continue
      const failed = (error: unknown): void => this.#observerFailed(extension, error)
      try {
        const returned: unknown = extension.hooks.onEvent?.(event, this.#options.contextOf(extension))
        if (isThenable(returned)) returned.then(undefined, failed)
      } catch (error) {
        failed(error)
      }
    }
  }

  async #next<Name extends AwaitedHook>(hook: Name, extension: Extension, question: Question<Name>): Promise<Next> {
    const settled = await this.#call(hook, extension, question)
    if (settled.kind === 'stopped') return question.stopped?.() ?? 'go-on'
    try {
      return await question.take(valueInTime(settled, timeoutOf(extension)), extension)
    } catch (error) {
      const failure = this.#fail(extension, hook, error)
      const next = question.failed?.(failure, extension) ?? 'go-on'
      return failure.fatal ? 'end' : next
    }
  }

  #call<Name extends AwaitedHook>(hook: Name, extension: Extension, question: Question<Name>): Promise<Settled<unknown>> {
    const event = question.event()
    const timeoutMs = timeoutOf(extension)
    const { clock, abortSignal, stopDeadline, contextOf } = this.#options
    const handlers = extension.hooks as Readonly<Record<HookName, (event: unknown, context: ExtensionContext) => unknown>>
    return settleWithin({ clock, abortSignal, stopDeadline, timeoutMs, patient: question.patient }, () =>
      handlers[hook](snapshot(event), contextOf(extension)),
    )
  }

  #observerFailed(extension: Extension, error: unknown): void {
    if (this.#brokenObservers.has(extension)) return
    this.#brokenObservers.add(extension)
    this.#fail(extension, 'onEvent', error)
  }

  #fail(extension: Extension, hook: HookName, error: unknown): HookFailure {
    const fatal = extension.onError === 'fail' && this.#options.hasEnded?.() !== true
    const failure = Object.freeze({ extension: extension.name, hook, message: messageOf(error), fatal })
    this.#options.onError(failure)
    return failure
  }
}

function timeoutOf({ timeoutMs }: Extension): number {
  return timeoutMs ?? defaultTimeoutMs
}
