import type { Runtime } from '../../runtime/types.ts'
import type { Scene } from './scene.ts'

/** The runtime as a client sees it, with its sessions and runs: what the client is told is remembered. */
export function watchedRuntime(scene: Scene, runtime: Runtime): Runtime {
  return watched(scene, runtime)
}

/** What a client is told, as far as it says what was accepted. */
interface Told {
  readonly runId?: string
  readonly accepted?: string | readonly string[]
  readonly approvalId?: string
  readonly repeated?: boolean | readonly string[]
}

function watched<T extends object>(scene: Scene, target: T): T {
  return new Proxy(target, {
    get(_target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return isFace(member) ? watched(scene, member) : member
      return (...args: unknown[]) => {
        const answer: unknown = (member as (...given: unknown[]) => unknown).apply(target, args)
        return answer instanceof Promise ? answer.then((told) => heard(scene, told)) : faceOf(scene, answer)
      }
    },
  })
}

function heard(scene: Scene, told: unknown): unknown {
  const { runId, accepted, approvalId, repeated } = (told ?? {}) as Told
  if (typeof accepted === 'string' && runId !== undefined) scene.acceptedRuns.add(runId)
  if (Array.isArray(accepted)) for (const toolCallId of accepted as readonly string[]) addAnswer(scene, toolCallId)
  if (approvalId !== undefined && repeated === false) addAnswer(scene, approvalId)
  return faceOf(scene, told)
}

function addAnswer({ acceptedAnswers }: Scene, id: string): void {
  acceptedAnswers.set(id, (acceptedAnswers.get(id) ?? 0) + 1)
}

function faceOf(scene: Scene, value: unknown): unknown {
  if (isFace(value)) return watched(scene, value)
  if (typeof value !== 'object' || value === null || !('run' in value) || !isFace(value.run)) return value
  return { ...value, run: watched(scene, value.run) }
}

/** A session or a run. */
function isFace(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return ('send' in value && 'key' in value) || ('result' in value && 'runId' in value)
}
