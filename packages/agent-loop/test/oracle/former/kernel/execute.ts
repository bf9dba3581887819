import type { JSONValue } from '@bowline/llm'
import { spawnChildIn } from '../agent/spawn-child.ts'
import type { ToolContext } from '../contract/agent.ts'
import type { CallContext, ChildReport, ToolReturnValue } from '../contract/tool.ts'
import type { ApprovalResolvedEvent } from '../events/types.ts'
import { delegate } from '../plugins/subagents/delegate.ts'
import { drainGenerator, isGenerator } from '../tools/generator.ts'
import { returnedOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import type { Call } from './call.ts'
import type { Turn } from './turn.ts'

/**
 * How an execution ended; `returned`, with its `end`, is that of a subagent. `not-run`: the run was stopped before it
 * began; `unsettled`: it did not settle in its grace; `suspended`: a subagent waits for somebody outside.
 */
export type Execution = { readonly timedOut: boolean } & (
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  | { readonly kind: 'returned'; readonly value: ToolReturnValue; readonly end?: ChildReport }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'not-run' }
  | { readonly kind: 'unsettled' }
  | { readonly kind: 'suspended'; readonly below: NonNullable<Call['below']> }
)

export type ExecutionEnding = Execution extends infer Each ? (Each extends unknown ? Omit<Each, 'timedOut'> : never) : never

/** What a call says while it runs; false once it has its outcome. */
export interface Reporter {
  readonly isOpen: () => boolean
  readonly report: (report: ChildReport) => void
  /** Somebody has decided what a subagent had asked. */
  readonly resolve: (event: ApprovalResolvedEvent) => void
}

/** What a call says of the work that it handed on. */
export type ChildNews =
  | { readonly kind: 'reported'; readonly report: ChildReport }
  | { readonly kind: 'resolved'; readonly event: ApprovalResolvedEvent }

const deltaCharacters = 1_000_000

/**
 * Runs a tool to its end. It must not reject. When the run is stopped, or the call is out of time, the call's signal is
 * aborted and it has the agent's grace to settle; what it says after that is dropped.
 */
export function execute(turn: Turn, call: Call, tell: (news: ChildNews) => void): Promise<Execution> {
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
      resolve({ ...ending, timedOut })
    }
    const abort = (reason: unknown): void => {
      controller.abort(reason)
      // The run of a subagent ends by itself, within a grace of its own.
      if (call.tool?.subagent && !turn.run.journal.children) return
      timers.push(turn.clock.setTimer(turn.clock.now() + turn.agent.abortGraceMs, () => end({ kind: 'unsettled' })))
    }
    const forgetStop = turn.stop.onStop(() => abort(turn.stop.signal.reason))
    const forgetLost = turn.stop.onLost(() => end({ kind: 'unsettled' }))
    const { deadlineAt } = call.row
    if (deadlineAt !== undefined) {
      const onDeadline = (): void => {
        timedOut = true
        abort(new DOMException('the call is out of time', 'TimeoutError'))
      }
      timers.push(turn.clock.setTimer(deadlineAt, onDeadline))
    }
    const reporter: Reporter = {
      isOpen: () => open,
      report: (report) => void (open && tell({ kind: 'reported', report })),
      resolve: (event) => void (open && tell({ kind: 'resolved', event })),
    }
    started(turn, call, controller.signal, reporter).then(end, (error: unknown) => end({ kind: 'threw', error }))
  })
}

async function started(turn: Turn, call: Call, abortSignal: AbortSignal, reporter: Reporter): Promise<ExecutionEnding> {
  const { tool } = call
  if (tool?.subagent) return delegate(turn, call, tool.subagent, { abortSignal, reporter })
  const emit = emitter(turn, call, reporter.isOpen)
  const returned = tool?.execute?.(call.input, toolContext(turn, call, { abortSignal, emit, report: reporter.report }))
  const value = isGenerator(returned) ? await drainGenerator(returned, emit) : await returned
  // What the model is to see of it is the tool's own code too, and has no more time than the rest.
  return { kind: 'settled', outcome: await returnedOutcome(tool, { toolCallId: call.row.toolCallId, input: call.input }, value, 'here') }
}

interface Outlets {
  readonly abortSignal: AbortSignal
  readonly emit: Emit
  readonly report: (report: ChildReport) => void
}

/** What the call's tool knows of its run. */
export function toolContext(turn: Turn, call: Call, { abortSignal, emit, report }: Outlets): ToolContext {
  const { inbox, path } = turn.run
  return {
    ...callContext(turn, call, abortSignal),
    ...(call.row.deadlineAt !== undefined && { deadlineAt: call.row.deadlineAt }),
    agent: path,
    get messages() {
      return [...turn.transcript.messages]
    },
    emit: (delta) => void emit(delta),
    steer: (input) => inbox.offer('steer', input),
    overlay: (input) => inbox.offer('overlay', input),
    compactAfterTurn: () => void (turn.compactionRequested = true),
    spawnChild: (options) => spawnChildIn(turn, options),
    reportChild: report,
  }
}

export function callContext(turn: Turn, call: Call, abortSignal: AbortSignal): CallContext {
  const { toolCallId, toolName, idempotencyKey, attempt } = call.row
  const { runId, number, step, run } = turn
  const { sessionKey, context } = run
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

/** Nothing is emitted before a call runs. */
export const silent: Emit = () => false
