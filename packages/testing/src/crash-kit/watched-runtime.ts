import { parseInput, type AgentInput } from '@bowline/agent-loop'
import type { UserMessage } from '@bowline/llm'
import type { Runtime } from '@bowline/sessions'
import { aroundRuntime } from '../around-runtime.ts'
import type { Scene } from './scene.ts'

/** Wraps a runtime for a client, and records what its sessions and runs acknowledge. */
export function watchedRuntime(scene: Scene, runtime: Runtime): Runtime {
  return aroundRuntime(runtime, ({ target, name, args }, go) => {
    const answer = go()
    if (!(answer instanceof Promise)) return answer
    return answer.then((told: unknown) => {
      if ('key' in target) noteInput(scene, target.key as string, { name, args, told: told as Told | undefined })
      noteAnswer(scene, told)
      return told
    })
  })
}

/** The part of an answer to a client that says what was accepted. */
interface Told {
  readonly runId?: string
  readonly accepted?: string | readonly string[]
  readonly approvalId?: string
  readonly repeated?: boolean | readonly string[]
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
  // These methods have refused answers.
  const { content } = parseInput(input) as UserMessage
  const isNew = told?.accepted !== 'duplicate'
  scene.acceptedInputs = [...scene.acceptedInputs, { method: name, session, ...named, content, ...shown, isNew }]
}

function noteAnswer(scene: Scene, told: unknown): void {
  const { runId, accepted, approvalId, repeated } = (told ?? {}) as Told
  if (typeof accepted === 'string' && runId !== undefined) scene.acceptedRuns.add(runId)
  if (Array.isArray(accepted)) for (const toolCallId of accepted as readonly string[]) addAnswer(scene, toolCallId)
  if (approvalId !== undefined && repeated === false) addAnswer(scene, approvalId)
}

function addAnswer({ acceptedAnswers }: Scene, id: string): void {
  acceptedAnswers.set(id, (acceptedAnswers.get(id) ?? 0) + 1)
}
