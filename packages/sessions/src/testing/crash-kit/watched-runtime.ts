import type { AgentInput } from '@bowline/agent-loop'
import type { Runtime } from '../../runtime/types.ts'
import { messageOf } from '../../commands/new-run.ts'
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
        if (!(answer instanceof Promise)) return faceOf(scene, answer)
        return answer.then((told) => {
          if ('key' in target) noteInput(scene, target.key as string, { name, args, told: told as Told | undefined })
          return heard(scene, told)
        })
      }
    },
  })
}

interface Answered {
  readonly name: string | symbol
  readonly args: readonly unknown[]
  readonly told: Told | undefined
}

/** Records an acknowledged input of a session. */
function noteInput(scene: Scene, session: string, { name, args, told }: Answered): void {
  if (name === 'kill' || name === 'delete') scene.acceptedInputs = scene.acceptedInputs.filter((input) => input.session !== session)
  if (name !== 'send' && name !== 'steer' && name !== 'followUp' && name !== 'overlay') return
  const [input, { id, turns = 1 } = {}] = args as [AgentInput, { readonly id?: string; readonly turns?: number } | undefined]
  const named = id === undefined ? {} : { inputId: id }
  const shown = name === 'overlay' ? { turns } : {}
  const isNew = told?.accepted !== 'duplicate'
  scene.acceptedInputs = [...scene.acceptedInputs, { method: name, session, ...named, content: messageOf(input).content, ...shown, isNew }]
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
