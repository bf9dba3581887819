import { SessionError } from '@bowline/sessions'
import type { StoreOperation } from '../around-store.ts'
import { unavailable } from '../fault-plan.ts'
import type { CrashProcess } from './crash-process.ts'
import type { StoreFault } from './types.ts'

/** One call of a process to its store. */
export interface StoreCall {
  /** Number of the call, from 1. */
  readonly number: number
  readonly operation: StoreOperation
  /** For a commit: what it writes. */
  readonly what: string
}

/** A fault of one call, by the number of the call. */
export interface PlannedFault {
  readonly call: number
  readonly fault: StoreFault
}

type Log = (what: string) => void

/** Operations that write, and so need room. */
const writing: ReadonlySet<StoreOperation> = new Set(['commit', 'claim', 'renew', 'prune', 'claimNotices', 'settleNotice', 'resendNotice'])

/** Time in ms for which a store is away: longer than a retry takes, shorter than a lease. */
const awayMs = 2_000

export function isPossible(fault: StoreFault, { operation }: StoreCall): boolean {
  return fault !== 'full' || writing.has(operation)
}

export function printFault({ number, operation, what }: StoreCall, fault: StoreFault): string {
  return [number, operation, what, fault].filter((part) => part !== '').join(' ')
}

/** Counts the calls of the processes to their store, and fails those of the plan. */
export class StoreFaults {
  readonly calls: StoreCall[] = []
  /** False until the process has started: a process that cannot start does not live. */
  isCounting = false
  readonly #plan: readonly PlannedFault[]
  #awayUntilMs = -Infinity
  #struck = 0

  constructor(plan: readonly PlannedFault[]) {
    this.#plan = plan
  }

  /** True if a planned call was not made. */
  get isUnfinished(): boolean {
    return this.#struck < this.#plan.length
  }

  /** Executes a call of the process with `go`, unless it fails. */
  async around({ clock }: CrashProcess, asked: Omit<StoreCall, 'number'>, go: () => Promise<unknown>, log: Log): Promise<unknown> {
    const { operation } = asked
    if (!this.isCounting || operation === 'close') return go()
    const call = { number: this.calls.length + 1, ...asked }
    this.calls.push(call)
    const fault = this.#plan.find((each) => each.call === call.number)?.fault
    if (fault) {
      this.#struck += 1
      log(`the store fails: ${printFault(call, fault)}`)
    }
    if (fault === 'away') this.#awayUntilMs = clock.now() + awayMs
    if (fault === 'full') throw new SessionError('store-full', `There is no room for ${operation}.`)
    if (fault === 'unavailable' || clock.now() < this.#awayUntilMs) throw unavailable(operation)
    const answer = await go()
    if (fault === 'answer-lost') throw unavailable(operation)
    return answer
  }
}
