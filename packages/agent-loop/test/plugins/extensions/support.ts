import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import { defineExtension } from '../../../src/agent/define-extension.ts'
import type { Extension, ExtensionContext, HookedCall, HookedResult, Hooks } from '../../../src/contract/extension.ts'
import { HandlerCalls } from '../../../src/plugins/extensions/call-handlers.ts'
import type { HookFailure } from '../../../src/plugins/extensions/call-handlers.ts'

export interface Bench {
  readonly hooks: HandlerCalls
  readonly failures: readonly HookFailure[]
  readonly clock: ManualClock
  readonly stop: AbortController
}

/** Creates the handler calls of extensions, and lists of what they report. */
export function bench(
  extensions: readonly Extension[],
  options: { readonly stopDeadline?: () => number; readonly hasEnded?: () => boolean } = {},
): Bench {
  const clock = manualClock(1_000)
  const stop = new AbortController()
  const failures: HookFailure[] = []
  const hooks = new HandlerCalls({
    extensions,
    clock,
    abortSignal: stop.signal,
    ...options,
    contextOf: ({ name }) => ({ runId: `run of ${name}`, abortSignal: stop.signal }) as unknown as ExtensionContext,
    onError: (failure) => failures.push(failure),
  })
  return { hooks, failures, clock, stop }
}

export function extension(name: string, hooks: Hooks, options: Partial<Extension> = {}): Extension {
  return defineExtension({ name, hooks, ...options })
}

/** Accepts hooks that a script without types could pass. */
export function untyped(hooks: Readonly<Record<string, unknown>>): Hooks {
  return hooks
}

export const never = (): Promise<never> => new Promise(() => undefined)

export function callOf(input: HookedCall['input'] = { path: 'a' }): HookedCall {
  return { toolCallId: 'c1', toolName: 'read', input, effect: 'pure', idempotencyKey: 'r/1/c1' }
}

export function resultOf(text: string, options: Partial<HookedResult> = {}): HookedResult {
  return { status: 'result', output: { type: 'text', value: text }, executed: 'here', ...options }
}
