import type { JSONValue, Message, SchemaResult } from '@bowline/llm'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { HookedCall, HookedResult, HookName, RequestPatch } from '../../contract/extension.ts'
import type { AgentEvent } from '../../events/types.ts'
import { askAgentStart, askCall, askCompaction, askContext, askInput, askRequest, askResult, askSettled } from './ask-hooks.ts'
import { HandlerCalls } from './call-handlers.ts'
import type { HookEvent, HookFailure, HookRunnerOptions } from './call-handlers.ts'
import type { AgentStartVerdict, CallVerdict, CompactionVerdict, InputVerdict } from './verdicts.ts'

export type { HookFailure, HookRunnerOptions } from './call-handlers.ts'

/**
 * The hooks of one turn. No method throws or rejects: a hook that fails leaves the last good value, `onError` is told,
 * and `failure` says whether the turn must end for it.
 */
export interface HookRunner {
  /** The first failure of an extension with `onError: 'fail'`: the turn must end as `error` with `extension-error`. */
  readonly failure: HookFailure | undefined
  /** Whether anybody listens to one of these. */
  has(...hooks: readonly HookName[]): boolean
  onInput(event: HookEvent<'onInput'>): Promise<InputVerdict>
  beforeAgentStart(event: HookEvent<'beforeAgentStart'>): Promise<AgentStartVerdict>
  onTurnStart(event: HookEvent<'onTurnStart'>): Promise<void>
  transformContext(messages: readonly Message[]): Promise<readonly Message[]>
  onStepStart(event: HookEvent<'onStepStart'>): Promise<void>
  onStepEnd(event: HookEvent<'onStepEnd'>): Promise<void>
  beforeModelCall(event: HookEvent<'beforeModelCall'>): Promise<RequestPatch>
  afterModelCall(event: HookEvent<'afterModelCall'>): Promise<void>
  /** `validate` checks what a `modify` gives, as the model's own input was checked. */
  onToolCall(call: HookedCall, validate: (input: JSONValue) => MaybePromise<SchemaResult>): Promise<CallVerdict>
  /** With `neverResult` a patch that makes a `result` of the call counts as not valid. */
  onToolResult(call: HookedCall, result: HookedResult, options?: { readonly neverResult?: boolean }): Promise<HookedResult>
  onToolSettled(event: HookEvent<'onToolSettled'>): Promise<void>
  beforeCompaction(event: HookEvent<'beforeCompaction'>): Promise<CompactionVerdict>
  afterCompaction(event: HookEvent<'afterCompaction'>): Promise<void>
  onRetryStart(event: HookEvent<'onRetryStart'>): Promise<void>
  onRetryEnd(event: HookEvent<'onRetryEnd'>): Promise<void>
  onAgentEnd(event: HookEvent<'onAgentEnd'>): Promise<void>
  onSavePoint(event: HookEvent<'onSavePoint'>): Promise<void>
  onSettled(event: HookEvent<'onSettled'>): Promise<void>
  onEvent(event: AgentEvent): void
}

export function hookRunner(options: HookRunnerOptions): HookRunner {
  return new TurnHooks(options)
}

class TurnHooks implements HookRunner {
  readonly #calls: HandlerCalls
  readonly #isAlone: boolean

  constructor(options: HookRunnerOptions) {
    this.#calls = new HandlerCalls(options)
    this.#isAlone = options.extensions.length === 0
  }

  get failure(): HookFailure | undefined {
    return this.#calls.failure
  }

  has(...hooks: readonly HookName[]): boolean {
    return !this.#isAlone && hooks.some((hook) => this.#calls.listeners(hook).length > 0)
  }

  onInput(event: HookEvent<'onInput'>): Promise<InputVerdict> {
    return askInput(this.#calls, event)
  }

  beforeAgentStart(event: HookEvent<'beforeAgentStart'>): Promise<AgentStartVerdict> {
    return askAgentStart(this.#calls, event)
  }

  onTurnStart(event: HookEvent<'onTurnStart'>): Promise<void> {
    return this.#calls.tell('onTurnStart', event)
  }

  transformContext(messages: readonly Message[]): Promise<readonly Message[]> {
    return askContext(this.#calls, messages)
  }

  onStepStart(event: HookEvent<'onStepStart'>): Promise<void> {
    return this.#calls.tell('onStepStart', event)
  }

  onStepEnd(event: HookEvent<'onStepEnd'>): Promise<void> {
    return this.#calls.tell('onStepEnd', event)
  }

  beforeModelCall(event: HookEvent<'beforeModelCall'>): Promise<RequestPatch> {
    return askRequest(this.#calls, event)
  }

  afterModelCall(event: HookEvent<'afterModelCall'>): Promise<void> {
    return this.#calls.tell('afterModelCall', event)
  }

  onToolCall(call: HookedCall, validate: (input: JSONValue) => MaybePromise<SchemaResult>): Promise<CallVerdict> {
    return askCall(this.#calls, call, validate)
  }

  onToolResult(call: HookedCall, result: HookedResult, { neverResult = false }: { readonly neverResult?: boolean } = {}): Promise<HookedResult> {
    return askResult(this.#calls, call, result, neverResult)
  }

  onToolSettled(event: HookEvent<'onToolSettled'>): Promise<void> {
    return askSettled(this.#calls, event)
  }

  beforeCompaction(event: HookEvent<'beforeCompaction'>): Promise<CompactionVerdict> {
    return askCompaction(this.#calls, event)
  }

  afterCompaction(event: HookEvent<'afterCompaction'>): Promise<void> {
    return this.#calls.tell('afterCompaction', event)
  }

  onRetryStart(event: HookEvent<'onRetryStart'>): Promise<void> {
    return this.#calls.tell('onRetryStart', event)
  }

  onRetryEnd(event: HookEvent<'onRetryEnd'>): Promise<void> {
    return this.#calls.tell('onRetryEnd', event)
  }

  onAgentEnd(event: HookEvent<'onAgentEnd'>): Promise<void> {
    return this.#calls.tell('onAgentEnd', event)
  }

  onSavePoint(event: HookEvent<'onSavePoint'>): Promise<void> {
    return this.#calls.tell('onSavePoint', event)
  }

  onSettled(event: HookEvent<'onSettled'>): Promise<void> {
    return this.#calls.tell('onSettled', event)
  }

  onEvent(event: AgentEvent): void {
    this.#calls.show(event)
  }
}
