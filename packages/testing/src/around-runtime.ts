import type { Runtime } from '@bowline/sessions'

/** A method call on a runtime, or on one of its sessions or runs. */
export interface RuntimeCall {
  readonly target: object
  readonly name: string | symbol
  readonly args: readonly unknown[]
}

/** Wraps a call. `go` calls the method itself. Must return the result of `go`, or a wrapped one. */
export type AroundRuntime = (call: RuntimeCall, go: () => unknown) => unknown

/** Wraps each method of the runtime, and of its sessions and runs. */
export function aroundRuntime(runtime: Runtime, around: AroundRuntime): Runtime {
  return wrapped(runtime, around)
}

function wrapped<T extends object>(target: T, around: AroundRuntime): T {
  return new Proxy(target, {
    get(_target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return isFace(member) ? wrapped(member, around) : member
      return (...args: unknown[]) => {
        const answer = around({ target, name, args }, () => (member as (...given: unknown[]) => unknown).apply(target, args))
        return answer instanceof Promise ? answer.then((value) => faceOf(value, around)) : faceOf(answer, around)
      }
    },
  })
}

function faceOf(value: unknown, around: AroundRuntime): unknown {
  if (isFace(value)) return wrapped(value, around)
  if (typeof value !== 'object' || value === null || !('run' in value) || !isFace(value.run)) return value
  return { ...value, run: wrapped(value.run, around) }
}

/** Returns true for a session or a run. */
function isFace(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return ('send' in value && 'key' in value) || ('result' in value && 'runId' in value)
}
