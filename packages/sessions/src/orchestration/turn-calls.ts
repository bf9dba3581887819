import type { ExtensionContext, OutcomeStatus } from '@bowline/agent-loop'
import type { Usage } from '@bowline/llm'

/** A call of the turn that is not recorded yet. */
export interface TurnCall {
  readonly key: string
  readonly tool: string
  /** The call has an outcome that counts as a use. */
  readonly settled?: true
}

/** Tokens of one model call, under their own idempotency key. */
export interface TurnUsage {
  readonly key: string
  readonly usage: Pick<Usage, 'inputTokens' | 'outputTokens'>
}

const counts: Readonly<Record<OutcomeStatus, boolean>> = { result: true, error: true, unknown: true, denied: false, cancelled: false }

/**
 * Calls and usage of a turn that are not recorded yet, kept in the extension's record of the turn. They are stored together
 * with the outcomes, so that after a crash each settled call is either recorded or listed here.
 */
export class TurnCalls {
  readonly #record: ExtensionContext['state']

  constructor({ state }: ExtensionContext) {
    this.#record = state
  }

  /** Calls in the order in which the model made them. */
  get calls(): readonly TurnCall[] {
    return (this.#record['calls'] ?? []) as unknown as readonly TurnCall[]
  }

  get usages(): readonly TurnUsage[] {
    return (this.#record['usages'] ?? []) as unknown as readonly TurnUsage[]
  }

  /** Settled calls without an open call before them, so that their order is known. */
  get recordable(): readonly TurnCall[] {
    const open = this.calls.findIndex((call) => !call.settled)
    return open < 0 ? this.calls : this.calls.slice(0, open)
  }

  /** Returns the calls before this one. */
  before(key: string): readonly TurnCall[] {
    const place = this.calls.findIndex((call) => call.key === key)
    return place < 0 ? this.calls : this.calls.slice(0, place)
  }

  /** Notes a call that may run. A call that is prepared again keeps its position. */
  open(key: string, tool: string): void {
    if (!this.calls.some((call) => call.key === key)) this.#set('calls', [...this.calls, { key, tool }])
  }

  settle(key: string, tool: string, status: OutcomeStatus): void {
    if (!counts[status]) return this.forget([key])
    this.open(key, tool)
    this.#set(
      'calls',
      this.calls.map((call) => (call.key === key ? { ...call, settled: true as const } : call)),
    )
  }

  spend(key: string, { inputTokens = 0, outputTokens = 0 }: Usage): void {
    this.#set('usages', [...this.usages, { key, usage: { inputTokens, outputTokens } }])
  }

  forget(keys: readonly string[]): void {
    this.#set(
      'calls',
      this.calls.filter((call) => !keys.includes(call.key)),
    )
    this.#set(
      'usages',
      this.usages.filter((usage) => !keys.includes(usage.key)),
    )
  }

  /** Removes open calls. When a model is called again, no call of an earlier step is open. */
  forgetOpen(): void {
    this.#set(
      'calls',
      this.calls.filter((call) => call.settled),
    )
  }

  #set(name: 'calls' | 'usages', list: readonly (TurnCall | TurnUsage)[]): void {
    if (list.length > 0) this.#record[name] = list.map((each) => ({ ...each }))
    else delete this.#record[name]
  }
}
