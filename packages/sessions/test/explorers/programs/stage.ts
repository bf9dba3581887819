import { fakeIds } from '@bowline/testing'
import type { IdSource } from '@bowline/agent-loop'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import type { Runtime, RuntimeWebhook } from '../../../src/runtime/types.ts'
import type { Batch } from '../../../src/contract/batch.ts'
import { noticeTypes } from '../../../src/contract/notices.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import { recordRequests } from '../../../src/requests/record-requests.ts'
import { CrashProcess } from '../../../../testing/src/crash-kit/crash-process.ts'
import { OutsideWorld } from '../../../../testing/src/crash-kit/outside-world.ts'
import { nameOfError, startRuntime } from '../../../../testing/src/crash-kit/start-runtime.ts'
import { castOf } from './cast.ts'
import { Ceiling } from './ceiling.ts'
import { drawFrom, type Draw } from './draw.ts'
import { DueModel } from './due-model.ts'
import type { ModelWorld } from './plan-model.ts'
import { processStore } from './process-store.ts'
import type { HookPlan, Program } from './program.ts'
import { ProgramTime } from '../../../../testing/src/program-time.ts'
import { StoreGate } from './store-gate.ts'

export interface StageParts {
  /** Opens the store of the program. */
  readonly open: (time: ProgramTime) => Promise<SessionStore>
  /** Reopens the store after its process died. Default: the same store. */
  readonly reopen?: (store: SessionStore, time: ProgramTime) => Promise<SessionStore>
  readonly createRuntime?: typeof createRuntime
}

/** A process of a program. */
export interface Living {
  readonly process: CrashProcess
  readonly runtime: Runtime
  readonly definition: number
}

const mostTurns = 20_000
/** Longer than the lease of a run. */
const freezeMs = 15_000
/** No name has an address, so each attempt fails without a connection. */
const webhook: RuntimeWebhook = { url: 'https://away.example/', events: noticeTypes, secret: 'a secret of sixteen characters' }
/** Delay in ms before a runtime that failed to start is started again. */
const startAgainMs = 500

/** The processes of a program, their shared time, and the observations of the run. */
export class Stage {
  readonly program: Program
  readonly time = new ProgramTime()
  readonly trace: string[] = []
  readonly world = new OutsideWorld((process, what) => {
    this.log(process.name, what)
    this.gate.noteEffect(process)
  })
  readonly models: ModelWorld = { prompts: [], failed: new Set(), nextCall: 0 }
  readonly ceiling: Ceiling
  readonly gate: StoreGate
  /** Time of the last write to each session, deliveries included. */
  readonly writtenAt = new Map<string, number>()
  readonly faults: string[] = []
  readonly dueModel = new DueModel()
  store!: SessionStore
  /** Number of processes that were replaced. */
  replaced = 0
  /** Called after a process was replaced. */
  onReplaced: () => void = () => undefined
  readonly #parts: StageParts
  readonly #ids: IdSource = fakeIds()
  readonly #draw: Draw
  readonly #hookCalls = new Map<HookPlan, number>()
  readonly #all: Living[] = []
  #struck: 'kill' | 'freeze' | undefined
  readonly #watchers = new Set<() => void>()

  constructor(program: Program, parts: StageParts) {
    this.program = program
    this.#parts = parts
    this.#draw = drawFrom(program.seed + 1)
    this.ceiling = new Ceiling(program)
    this.gate = new StoreGate({
      draw: this.#draw,
      crashes: program.crashes,
      ceiling: this.ceiling,
      time: this.time,
      log: (process, what) => this.log(process.name, what),
      onStruck: ({ state }, { ms = freezeMs }) => {
        this.#struck = state === 'dead' ? 'kill' : 'freeze'
        if (this.#struck === 'freeze') this.time.clock.setTimer(this.time.now + ms, () => this.wakeFrozen())
      },
      onTakeover: () => this.wakeFrozen(),
      onCommit: (batch) => this.#noteWrite(batch),
    })
  }

  async open(): Promise<void> {
    this.store = await this.#parts.open(this.time)
    this.#begin(0)
  }

  /** The process that clients call. */
  get current(): Living {
    const living = this.#all.at(-1)
    if (!living) throw new TypeError('The program has no process.')
    return living
  }

  log(who: string, what: string): void {
    this.trace.push(`${this.time.now} ${who} ${what}`)
  }

  /** Lets the store execute this number of calls. Default: until nothing more happens without time passing. */
  readonly settle = async (turns = mostTurns): Promise<void> => {
    for (let turn = 0; turn < turns; turn++) {
      const isBusy = await this.gate.turn()
      if (this.#struck) await this.#replace()
      else if (!isBusy && !this.#finishWaking()) return
      for (const watcher of this.#watchers) watcher()
    }
  }

  async pass(ms: number): Promise<void> {
    await this.time.pass(ms, this.settle)
  }

  /** Calls the watcher after each turn of the store. Returns a dispose function. */
  eachTurn(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Stops the runtime as its host would, and starts another process. */
  async restart(definition: number, graceMs: number): Promise<void> {
    const { runtime, process } = this.current
    let isStopped = false
    void runtime.stop({ graceMs }).then(
      () => (isStopped = true),
      () => (isStopped = true),
    )
    await this.settle()
    for (let waited = 0; !isStopped && process.state === 'alive' && waited < 20; waited++) await this.pass(500)
    if (this.current.process !== process) return
    this.log(process.name, isStopped ? 'is stopped' : 'does not stop')
    if (!isStopped) this.faults.push(`${process.name} did not stop within ${graceMs + 10_000} ms`)
    process.kill()
    this.#begin(definition)
    this.onReplaced()
  }

  /** True while a process is stopped, or while the store cannot be reached. */
  get isHeldUp(): boolean {
    return this.gate.isAway || this.#all.some(({ process }) => process.state === 'stopped')
  }

  wakeFrozen(): void {
    for (const { process } of this.#all) {
      if (process.state !== 'stopped') continue
      this.log(process.name, 'goes on')
      process.wake()
    }
  }

  /** Kills all processes and closes the store. */
  async clear(): Promise<void> {
    for (const { process } of this.#all) process.kill()
    this.time.clear()
    await this.store.close()
  }

  #begin(definition: number): void {
    const { setup } = this.program
    const process = new CrashProcess(`process-${this.#all.length + 1}`, this.time.clock)
    this.log(process.name, `starts${definition > 0 ? ` with definition ${definition}` : ''}`)
    const store = processStore(this.gate, process, () => this.store)
    const random = (): number => this.#draw.whole(1000) / 1000
    const { clock } = process
    const requests = setup.records && recordRequests({ store, clock })
    const agents = castOf({
      requests,
      setup,
      definition,
      world: this.world.of(process),
      models: this.models,
      clock,
      store,
      random,
      hookCalls: this.#hookCalls,
    })
    const runtime = (this.#parts.createRuntime ?? createRuntime)({
      agents,
      store,
      clock,
      ids: this.#ids,
      ...(requests && { requests }),
      ...(setup.webhook && { notify: webhook, webhooks: { resolve: () => Promise.resolve([]), random } }),
      ...(setup.concurrency !== undefined && { concurrency: setup.concurrency }),
      ...(setup.durability && { durability: setup.durability }),
      ...(setup.onDefinitionChange && { onDefinitionChange: setup.onDefinitionChange }),
      ...(setup.idleMs !== undefined && { ttl: { idleMs: setup.idleMs } }),
      ...(setup.maxActive !== undefined && { background: { maxActive: setup.maxActive } }),
      onError: (error, { during }) => this.log(process.name, `fault during ${during}: ${nameOfError(error)}`),
    })
    this.#all.push({ process, runtime, definition })
    void this.#startRuntime(process, runtime)
  }

  /** Starts the runtime. If the store is unavailable, tries again later, as a supervisor does. */
  async #startRuntime(process: CrashProcess, runtime: Runtime): Promise<void> {
    try {
      await startRuntime(runtime)
    } catch (error) {
      this.log(process.name, `does not start: ${nameOfError(error)}`)
      if (this.gate.isAway) process.clock.setTimer(process.clock.now() + startAgainMs, () => void this.#startRuntime(process, runtime))
    }
  }

  /** Replaces the disturbed process. */
  async #replace(): Promise<void> {
    const how = this.#struck
    this.#struck = undefined
    const { processes, durable } = this.store.capabilities
    // A frozen process keeps the lock of its file: no other process can take over before it resumes.
    if (how === 'freeze' && processes === 'one' && durable !== 'none') return this.wakeFrozen()
    this.replaced++
    const { definition } = this.current
    if (how === 'kill' && this.#parts.reopen && this.#all.every(({ process }) => process.state === 'dead')) {
      this.store = await this.#parts.reopen(this.store, this.time)
    }
    this.#begin(definition)
    this.onReplaced()
  }

  /** Resumes the code of waking processes. Called when nothing else happens, because missed timers come first. */
  #finishWaking(): boolean {
    const waking = this.#all.filter(({ process }) => process.state === 'waking')
    for (const { process } of waking) process.finishWaking()
    return waking.length > 0
  }

  #noteWrite(batch: Batch): void {
    const { key, writes, deliver = [] } = batch
    this.dueModel.note(batch)
    // Marking a session as expired does not count as activity.
    const own = writes.some(({ op }) => op === 'session.expire') ? [] : [key]
    for (const written of [...own, ...deliver.map(({ to }) => to)]) {
      this.writtenAt.set(written, Math.max(this.time.now, this.writtenAt.get(written) ?? 0))
    }
  }
}
