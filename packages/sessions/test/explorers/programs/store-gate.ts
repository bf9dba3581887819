import { nameOfBatch, printResult } from '../../../../testing/src/crash-kit/print-commit.ts'
import type { CrashProcess } from '../../../../testing/src/crash-kit/crash-process.ts'
import { RunOwners } from '../../../../testing/src/crash-kit/run-owners.ts'
import { unavailable } from '../../../../testing/src/fault-plan.ts'
import { untilQuiet } from '../../../../testing/src/until-quiet.ts'
import type { StoreOperation } from '../../../../testing/src/around-store.ts'
import type { Batch, CommitResult } from '../../../src/contract/batch.ts'
import type { Claim } from '../../../src/contract/session-store.ts'
import type { Draw } from './draw.ts'
import type { ProgramCrash } from './program.ts'
import type { ProgramTime } from '../../../../testing/src/program-time.ts'
import type { Ceiling } from './ceiling.ts'

interface Asked {
  readonly process: CrashProcess
  readonly operation: StoreOperation | 'state'
  readonly args: readonly unknown[]
  readonly go: () => Promise<unknown>
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface GateOptions {
  readonly draw: Draw
  readonly crashes: readonly ProgramCrash[]
  readonly ceiling: Ceiling
  readonly time: Pick<ProgramTime, 'passed'>
  readonly log: (process: CrashProcess, what: string) => void
  /** Called when a process was disturbed and must be replaced. */
  readonly onStruck: (process: CrashProcess, crash: ProgramCrash) => void
  readonly onTakeover: () => void
  /** Called after a commit was applied. */
  readonly onCommit: (batch: Batch) => void
}

const unrenewedMs = 60_000
const awayMs = 4_000

/**
 * Through this gate all processes of a program call the store. It executes one call at a time, in an order that the seed
 * determines, so that equal programs take equal paths on every store. It also disturbs processes as the program says.
 */
export class StoreGate {
  readonly #options: GateOptions
  readonly #waiting: Asked[] = []
  /** For each process, the time (ms since the start) until which its renewals fail. */
  readonly #unrenewedUntil = new Map<CrashProcess, number>()
  /** Time (ms since the start) until which no process reaches the store. */
  #awayUntil = 0
  readonly owners = new RunOwners()
  readonly staleWrites: string[] = []
  /** Number of operations so far. */
  count = 0
  #effects = 0
  /** Number of disturbances so far. */
  strikes = 0

  constructor(options: GateOptions) {
    this.#options = options
  }

  /** True while no process reaches the store. */
  get isAway(): boolean {
    return this.#options.time.passed < this.#awayUntil
  }

  ask<T>(process: CrashProcess, operation: Asked['operation'], args: readonly unknown[], go: () => Promise<T>): Promise<T> {
    if (process.state === 'dead') return new Promise(() => undefined)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ process, operation, args, go, resolve: resolve as Asked['resolve'], reject })
    })
  }

  /** Answers one request. Returns false if none waits. */
  async turn(): Promise<boolean> {
    await untilQuiet()
    const asked = this.#take()
    if (!asked || this.#options.ceiling.isReached) return false
    this.count++
    const crash = this.#options.crashes.find(({ at, how }) => at === this.count && !inTool(how))
    if (crash) await this.#strike(asked, crash)
    else await this.#answer(asked)
    return true
  }

  /** Notes that a tool of the process took effect. */
  noteEffect(process: CrashProcess): void {
    const { crashes, log, onStruck } = this.#options
    this.#effects++
    const crash = crashes.find(({ at, how }) => at === this.#effects && inTool(how))
    if (!crash) return
    this.strikes++
    log(process, `is struck: ${crash.how}`)
    if (crash.how === 'freeze-in-tool') process.stop()
    else process.kill()
    onStruck(process, crash)
  }

  /** Takes the oldest call, or at times another one, of a process that is not stopped. */
  #take(): Asked | undefined {
    for (let index = this.#waiting.length - 1; index >= 0; index--) {
      if (this.#waiting[index]?.process.state === 'dead') this.#waiting.splice(index, 1)
    }
    const possible = this.#waiting.filter(({ process }) => process.state !== 'stopped')
    const { draw } = this.#options
    const asked = possible.length > 1 && draw.chance(0.3) ? draw.oneOf(possible) : possible[0]
    if (asked) this.#waiting.splice(this.#waiting.indexOf(asked), 1)
    return asked
  }

  async #strike(asked: Asked, crash: ProgramCrash): Promise<void> {
    const { process, operation } = asked
    const { how } = crash
    const { log, time, onStruck } = this.#options
    this.strikes++
    log(process, `is struck at ${operation}: ${how}`)
    if (how === 'unrenewed' || how === 'never-renewed') {
      this.#unrenewedUntil.set(process, how === 'unrenewed' ? time.passed + unrenewedMs : Infinity)
      return this.#answer(asked)
    }
    if (how === 'freeze') {
      process.stop()
      this.#waiting.unshift(asked)
      return onStruck(process, crash)
    }
    if (how === 'outage') this.#awayUntil = time.passed + (crash.ms ?? awayMs)
    if (how === 'lost' || how === 'outage') return asked.reject(unavailable('commit'))
    if (how === 'kill-after') await this.#perform(asked).catch(() => undefined)
    if (how === 'lost-after') {
      await this.#perform(asked).catch(() => undefined)
      return asked.reject(unavailable('commit'))
    }
    process.kill()
    onStruck(process, crash)
  }

  async #answer(asked: Asked): Promise<void> {
    try {
      asked.resolve(await this.#perform(asked))
    } catch (error) {
      asked.reject(error)
    }
  }

  async #perform({ process, operation, args, go }: Asked): Promise<unknown> {
    if (this.isAway) throw unavailable('commit')
    if (operation === 'commit') return this.#commit(process, args[0] as Batch, go as () => Promise<CommitResult>)
    if (operation === 'claim') return this.#claim(process, go as () => Promise<readonly Claim[]>)
    if (operation === 'renew' && this.#options.time.passed < (this.#unrenewedUntil.get(process) ?? 0)) throw unavailable(operation)
    return go()
  }

  async #commit(process: CrashProcess, batch: Batch, go: () => Promise<CommitResult>): Promise<CommitResult> {
    const { log, ceiling, onCommit } = this.#options
    const lost = this.owners.lostRunsIn(process, batch)
    const result = await go()
    const name = nameOfBatch(batch)
    log(process, `commit ${batch.key} ${name}: ${printResult(result)}`)
    ceiling.countCommit(batch, result)
    if (!result.ok || result.existing) return result
    this.staleWrites.push(...lost.map((runId) => `${process.name} wrote ${name} for the run ${runId} after another process had claimed it`))
    onCommit(batch)
    return result
  }

  async #claim(process: CrashProcess, go: () => Promise<readonly Claim[]>): Promise<readonly Claim[]> {
    const claims = await go()
    this.owners.claimed(process, claims)
    for (const { run, previous } of claims) {
      this.#options.log(process, `claim ${run.id} (${previous}): epoch ${run.epoch}`)
      this.#options.ceiling.countClaim()
    }
    if (claims.some(({ previous }) => previous === 'running')) this.#options.onTakeover()
    return claims
  }
}

function inTool(how: ProgramCrash['how']): boolean {
  return how === 'kill-in-tool' || how === 'freeze-in-tool'
}
