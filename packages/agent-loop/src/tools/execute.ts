import type { JSONValue } from '@bowline/llm'
import type { Turn } from '../loop/turn.ts'
import type { Call } from './call.ts'
import { drainGenerator, isGenerator } from './generator.ts'
import type { CallContext, ToolContext } from './tool.ts'

/** How an execution ended. `not-run`: the run was stopped before it began; `unsettled`: it did not settle in its grace. */
export type Execution = { readonly timedOut: boolean } & (
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'not-run' }
  | { readonly kind: 'unsettled' }
)

type Ending = Execution extends infer Each ? (Each extends unknown ? Omit<Each, 'timedOut'> : never) : never

const deltaCharacters = 1_000_000

/**
 * Runs a tool to its end. It must not reject. When the run is stopped, or the call is out of time, the call's signal is
 * aborted and it has the agent's grace to settle; what it says after that is dropped.
 */
export function execute(turn: Turn, call: Call): Promise<Execution> {
  if (turn.stop.signal.aborted) return Promise.resolve({ kind: 'not-run', timedOut: false })
  return new Promise((resolve) => {
    const controller = new AbortController()
    const timers: (() => void)[] = []
    let timedOut = false
    let open = true
    const end = (ending: Ending): void => {
      if (!open) return
      open = false
      for (const cancel of timers) cancel()
      turn.stop.signal.removeEventListener('abort', onStop)
      resolve({ ...ending, timedOut })
    }
    const abort = (reason: unknown): void => {
      controller.abort(reason)
      if (turn.stop.cause?.kind === 'fenced') return end({ kind: 'unsettled' })
      timers.push(turn.clock.setTimer(turn.clock.now() + turn.agent.abortGraceMs, () => end({ kind: 'unsettled' })))
    }
    const onStop = (): void => abort(turn.stop.signal.reason)
    turn.stop.signal.addEventListener('abort', onStop, { once: true })
    const { deadlineAt } = call.row
    if (deadlineAt !== undefined) {
      const onDeadline = (): void => {
        timedOut = true
        abort(new DOMException('the call is out of time', 'TimeoutError'))
      }
      timers.push(turn.clock.setTimer(deadlineAt, onDeadline))
    }
    const emit = emitter(turn, call, () => open)
    started(turn, call, controller.signal, emit).then(
      (value) => end({ kind: 'returned', value }),
      (error: unknown) => end({ kind: 'threw', error }),
    )
  })
}

async function started(turn: Turn, call: Call, abortSignal: AbortSignal, emit: Emit): Promise<unknown> {
  const context: ToolContext = {
    ...callContext(turn, call, abortSignal),
    ...(call.row.deadlineAt !== undefined && { deadlineAt: call.row.deadlineAt }),
    agent: [],
    get messages() {
      return [...turn.transcript.messages]
    },
    emit: (delta) => void emit(delta),
  }
  const returned = call.tool?.execute?.(call.input, context)
  return isGenerator(returned) ? drainGenerator(returned, emit) : await returned
}

export function callContext(turn: Turn, call: Call, abortSignal: AbortSignal): CallContext {
  const { toolCallId, toolName, idempotencyKey, attempt } = call.row
  const { runId, number, step, sessionKey, context } = turn
  return {
    ...{ toolCallId, toolName, idempotencyKey, attempt, runId, turn: number, step, abortSignal },
    ...(sessionKey !== undefined && { sessionKey }),
    ...(context !== undefined && { context: context satisfies JSONValue }),
  }
}

/** False once the call has its outcome: what comes after that is dropped. */
export type Emit = (delta: string, replace?: true) => boolean

function emitter(turn: Turn, call: Call, isOpen: () => boolean): Emit {
  const { toolCallId } = call.row
  const { runId, number, step } = turn
  let room = deltaCharacters
  return (delta, replace) => {
    if (!isOpen()) return false
    if (typeof delta !== 'string' || delta === '' || delta.length > room) return true
    room -= delta.length
    const at = turn.clock.now()
    const event = { type: 'tool-execution-delta' as const, at, runId, turn: number, step, toolCallId, delta }
    turn.publish(replace ? { ...event, replace } : event)
    return true
  }
}
