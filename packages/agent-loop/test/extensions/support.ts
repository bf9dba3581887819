import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import { defineExtension } from '../../src/agent/define-extension.ts'
import type { Extension, ExtensionContext, HookedCall, HookedResult, Hooks } from '../../src/contract/extension.ts'
import { hookRunner } from '../../src/plugins/extensions/run-hooks.ts'
import type { HookFailure, HookRunner } from '../../src/plugins/extensions/run-hooks.ts'

export interface Bench {
  readonly hooks: HookRunner
  readonly failures: readonly HookFailure[]
  readonly clock: ManualClock
  readonly stop: AbortController
}

/** A runner over extensions, with what it reports. */
export function bench(extensions: readonly Extension[], options: { readonly stopDeadline?: () => number; readonly hasEnded?: () => boolean } = {}): Bench {
  const clock = manualClock(1_000)
  const stop = new AbortController()
  const failures: HookFailure[] = []
  const hooks = hookRunner({
    ...{ extensions, clock, abortSignal: stop.signal, ...options },
    contextOf: ({ name }) => ({ runId: `run of ${name}`, abortSignal: stop.signal }) as unknown as ExtensionContext,
    onError: (failure) => failures.push(failure),
  })
  return { hooks, failures, clock, stop }
}

export function extension(name: string, hooks: Hooks, options: Partial<Extension> = {}): Extension {
  return defineExtension({ name, hooks, ...options })
}

/** Hooks that a script without types could give. */
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
