import type { MaybePromise } from '../base/promises.ts'
import type { ToolContext } from '../contract/agent.ts'
import type { CallContext } from '../contract/tool.ts'
import { returnedOutcome } from '../tools/outcome.ts'
import { drainGenerator, isGenerator } from '../tools/output.ts'
import type { Emit } from '../tools/output.ts'
import type { Call, ExecutionEnding, Reporter, Wires } from './call.ts'
import { promptFor } from './system-prompt.ts'
import type { Turn } from './turn.ts'

export type Execution = ExecutionEnding & { readonly timedOut: boolean; readonly hasReturned?: true | undefined }

const deltaCharacters = 1_000_000

/**
 * Runs a tool to its end. Rejects only if the clock throws. If the run is stopped or the call is out of time, the call's signal is
 * aborted and it has the agent's grace to settle; a later result is dropped. `tell` gets work that the loop must do meanwhile.
 */
export function execute(turn: Turn, call: Call, tell: (take: () => MaybePromise<void>) => void): Promise<Execution> {
  if (turn.stop.requested) return Promise.resolve({ kind: 'not-run', timedOut: false })
  return new Promise((resolve) => {
    const controller = new AbortController()
    const timers: (() => void)[] = []
    let timedOut = false
    let open = true
    const end = (ending: ExecutionEnding): void => {
      if (!open) return
      open = false
      for (const cancel of timers) cancel()
      forgetStop()
      forgetLost()
      resolve({ ...ending, timedOut, hasReturned: wires.hasReturned })
    }
    const abort = (reason: unknown): void => {
      controller.abort(reason)
      if (call.tool?.subagent && turn.plugins.delegation?.endsByItself(turn)) return
      timers.push(turn.clock.setTimer(turn.clock.now() + turn.agent.abortGraceMs, () => end({ kind: 'unsettled' })))
    }
    const forgetStop = turn.stop.onStop(() => abort(turn.stop.signal.reason))
    const forgetLost = turn.stop.onLost(() => end({ kind: 'unsettled' }))
    const { deadlineAt } = call.row
    if (deadlineAt !== undefined) {
      const onDeadline = (): void => {
        timedOut = true
        abort(new DOMException('the call timed out', 'TimeoutError'))
      }
      timers.push(turn.clock.setTimer(deadlineAt, onDeadline))
    }
    const reporter: Reporter = { isOpen: () => open, tell: (take) => void (open && tell(take)) }
    const wires: Wires = { abortSignal: controller.signal, reporter }
    started(turn, call, wires).then(end, (error: unknown) => end({ kind: 'threw', error }))
  })
}

async function started(turn: Turn, call: Call, wires: Wires): Promise<ExecutionEnding> {
  const { tool } = call
  if (tool?.subagent) return delegated(turn, call, wires)
  const emit = emitter(turn, call, wires.reporter)
  const returned = tool?.execute?.(call.input, toolContext(turn, call, wires, emit))
  const value = isGenerator(returned) ? await drainGenerator(returned, emit) : await returned
  wires.hasReturned = true
  // `toModelOutput` is the tool's own code too, and shares its time limit.
  return { kind: 'settled', outcome: await returnedOutcome(tool, { toolCallId: call.row.toolCallId, input: call.input }, value, 'here') }
}

async function delegated(turn: Turn, call: Call, wires: Wires): Promise<ExecutionEnding> {
  const { delegation } = turn.plugins
  if (!delegation) throw new TypeError('the agent has no plug-in for subagents')
  return delegation.run(turn, call, wires)
}

/** Returns the context that the call's tool gets. */
function toolContext(turn: Turn, call: Call, { abortSignal, reporter }: Wires, emit: Emit): ToolContext {
  const { inbox, path } = turn.run
  const { deadlineAt } = call.row
  return {
    ...callContext(turn, call, abortSignal),
    ...(deadlineAt !== undefined && { deadlineAt }),
    agent: path,
    get messages() {
      return [...turn.transcript.messages]
    },
    emit: (delta) => void emit(delta),
    steer: (input) => inbox.offer('steer', input),
    overlay: (input) => inbox.offer('overlay', input),
    compactAfterTurn: () => void turn.wishes.add('compaction'),
    spawnChild: (options) => turn.run.spawnChild(promptFor(turn.prompt, turn.instructions), options),
    reportChild: (report) =>
      reporter.tell(() => {
        for (const take of turn.plugins.report.asks) take(turn, { call, report })
      }),
  }
}

export function callContext(turn: Turn, call: Call, abortSignal: AbortSignal): CallContext {
  const { toolCallId, toolName, idempotencyKey, attempt } = call.row
  const { runId, number, step, run } = turn
  const { sessionKey, context } = run
  return {
    toolCallId,
    toolName,
    idempotencyKey,
    attempt,
    runId,
    turn: number,
    step,
    abortSignal,
    ...(sessionKey !== undefined && { sessionKey }),
    ...(context !== undefined && { context }),
  }
}

function emitter(turn: Turn, call: Call, { isOpen }: Reporter): Emit {
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

/** Returns the context for a question about a call. Nothing runs yet, so deltas and reports are dropped. */
export function questionContext(turn: Turn, call: Call): ToolContext {
  return toolContext(turn, call, { abortSignal: turn.stop.signal, reporter: { isOpen: () => false, tell: () => undefined } }, () => false)
}
