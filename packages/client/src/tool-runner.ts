import type { PendingToolCall } from '@bowline/agent-loop/events'
import { ClientError, isReadingAborted } from './client-error.ts'
import { outcomeOf, type ClientTool, type ClientTools, type Outcome } from './client-tool.ts'
import { asClientError } from './http.ts'
import type { SubmissionReceipt, ToolResultInput } from './wire.ts'

export interface ToolRunnerOptions {
  readonly tools: () => ClientTools
  readonly submit: (results: readonly ToolResultInput[], signal: AbortSignal) => Promise<SubmissionReceipt>
  readonly onChange?: () => void
}

export type LocalState = 'running' | 'needs-confirm' | 'answered'

interface KeptOutcome {
  readonly outcome: Outcome
  /** Error of its last submission, if that failed. */
  error?: ClientError
}

/** Codes that mean that the outcome was set elsewhere. */
const answeredElsewhere: readonly string[] = ['tool-result-conflict', 'unknown-tool-call']

/** Runs each call that it has a tool for once, and submits each outcome as soon as it is known. */
export class ToolRunner {
  readonly #options: ToolRunnerOptions
  readonly #states = new Map<string, LocalState>()
  readonly #running = new Map<string, AbortController>()
  /** Outcomes of tools that ran. A retry submits the same outcome and does not run the tool again. */
  readonly #outcomes = new Map<string, KeptOutcome>()
  #open = new Set<string>()
  #idle: (() => void)[] = []

  constructor(options: ToolRunnerOptions) {
    this.#options = options
  }

  /** Sets the calls that are pending now. `found` is true for calls that were pending before this reader started. */
  offer(pending: readonly PendingToolCall[], found = false): void {
    const ids = pending.map((call) => call.toolCallId)
    for (const toolCallId of this.#states.keys()) if (!ids.includes(toolCallId)) this.settle(toolCallId)
    this.#open = new Set(ids.filter((id) => this.#states.get(id) !== 'answered'))
    for (const call of pending) {
      const tool = this.#toolOf(call)
      if (!tool || this.#states.has(call.toolCallId)) continue
      if (found && tool.effect !== 'pure' && tool.effect !== 'idempotent') this.#states.set(call.toolCallId, 'needs-confirm')
      else this.#start(call, tool)
    }
    this.#options.onChange?.()
  }

  /** Runs a call that needed confirmation. */
  confirm(call: PendingToolCall): void {
    const tool = this.#toolOf(call)
    if (tool && this.#states.get(call.toolCallId) === 'needs-confirm') this.#start(call, tool)
    this.#options.onChange?.()
  }

  /** Forgets a call that has its outcome, and aborts its tool. */
  settle(toolCallId: string): void {
    this.#open.delete(toolCallId)
    this.#states.delete(toolCallId)
    this.#outcomes.delete(toolCallId)
    this.#running.get(toolCallId)?.abort(new ClientError('reading-aborted', 'The call was settled elsewhere.'))
  }

  /** Error of a submission that failed and was not repeated since. */
  get error(): ClientError | undefined {
    return [...this.#outcomes.values()].findLast(({ error }) => error)?.error
  }

  stateOf(toolCallId: string): LocalState | undefined {
    return this.#states.get(toolCallId)
  }

  get busy(): boolean {
    return this.#running.size > 0
  }

  /** Calls that wait for an answer from elsewhere. */
  get open(): ReadonlySet<string> {
    return this.#open
  }

  /** Resolves when no tool runs here. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.busy) this.#idle.push(resolve)
      else resolve()
    })
  }

  /** Aborts the running tools. */
  close(): void {
    for (const toolCallId of this.#running.keys()) this.settle(toolCallId)
  }

  #toolOf(call: PendingToolCall): ClientTool | undefined {
    const tools = this.#options.tools()
    return call.unknown !== true && Object.hasOwn(tools, call.toolName) ? tools[call.toolName] : undefined
  }

  #start(call: PendingToolCall, tool: ClientTool): void {
    const leaving = new AbortController()
    this.#states.set(call.toolCallId, 'running')
    this.#running.set(call.toolCallId, leaving)
    void this.#run(call, tool, leaving.signal).finally(() => {
      // Meanwhile the call may have been settled and started anew.
      if (this.#running.get(call.toolCallId) === leaving) this.#running.delete(call.toolCallId)
      if (this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
      this.#options.onChange?.()
    })
  }

  /** Runs the tool and submits its outcome. Never rejects. */
  async #run(call: PendingToolCall, tool: ClientTool, signal: AbortSignal): Promise<void> {
    const { toolCallId, path } = call
    const outcome = this.#outcomes.get(toolCallId)?.outcome ?? (await untilAborted(outcomeOf(call, tool, signal), signal))
    if (!outcome || signal.aborted) return
    const kept: KeptOutcome = { outcome }
    this.#outcomes.set(toolCallId, kept)
    try {
      const receipt = await this.#options.submit([{ toolCallId, ...(path.length > 0 && { path }), ...outcome }], signal)
      if (!signal.aborted) this.#answered(toolCallId)
      this.#open = new Set(receipt.missing.filter((id) => this.#open.has(id)))
    } catch (error) {
      if (signal.aborted || isReadingAborted(error)) return
      const failure = asClientError(error)
      if (answeredElsewhere.includes(failure.code)) return this.#answered(toolCallId)
      kept.error = failure
      this.#states.set(toolCallId, 'needs-confirm')
    }
  }

  #answered(toolCallId: string): void {
    this.#open.delete(toolCallId)
    this.#states.set(toolCallId, 'answered')
  }
}

/** Resolves with undefined if the signal aborts first: a tool need not observe it. The signal must belong to this call only. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const aborted = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }))
  return Promise.race([promise, aborted])
}
