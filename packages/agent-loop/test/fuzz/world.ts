import type { AnyLanguageModel } from '@bowline/llm'
import type { ScriptedModel } from '@bowline/llm/testing'
import * as current from '../../src/index.ts'
import type { Accepted, IdSource } from '../../src/index.ts'
import type { Executing } from './scheduling.ts'
import type { SharedBudget } from './shared-budget.ts'
import type { SideWork } from './side-work.ts'
import { watchedClock } from './watched-clock.ts'
import type { WatchedClock } from './watched-clock.ts'

/** The functions that make an agent, from one copy of the loop. */
export type Loop = Pick<
  typeof current,
  'createBudget' | 'createMemoryJournal' | 'defineAgent' | 'defineExtension' | 'defineGuardrail' | 'defineTool' | 'loopGuard'
>

/** An input that was given besides the one that began a turn. */
export interface Given {
  readonly kind: 'steer' | 'overlay' | 'follow-up'
  readonly text: string
  /** Undefined as long as it is neither accepted nor refused. */
  accepted: Accepted | undefined
}

/** The first stop of a run. */
export interface Stop {
  readonly kind: 'stop' | 'yield' | 'fenced'
  readonly at: number
  readonly modelCalls: number
}

/** The environment of a run: its tools, its model, its journal, its extensions. */
export class World {
  readonly clock: WatchedClock = watchedClock(1_000)
  /** Makes the agents of this world. */
  readonly loop: Loop
  /** The faults that were found. */
  readonly faults: string[] = []
  /** Signals that were handed out: at the end they must have no listeners. */
  readonly signals = new Set<AbortSignal>()
  /** Number of executions of each call, by idempotency key. */
  readonly executions = new Map<string, { readonly toolName: string; readonly count: number }>()
  /** Calls that tools of the current run are executing. */
  readonly executing = new Set<Executing>()
  /** Limit of concurrent calls of the root agent. */
  toolConcurrency = Infinity
  readonly given: Given[] = []
  /** Calls whose results a model function has returned with the answer. */
  readonly brought = new Set<string>()
  /** Children that tools have spawned in the current run. */
  readonly sideWorks: SideWork[] = []
  /** Ids of all runs, so that none occurs twice. */
  ids: IdSource | undefined
  /** Budget of the whole conversation. */
  budget: SharedBudget | undefined
  /** Tokens in other logs, without those that the budget does not count. */
  toldAside = 0
  /** True if each use of the budget is in the log: no process was lost in the middle of one. */
  isWhole = true
  /** True if follow-ups may be stored with a changed text, or not at all. */
  inputsChange = false
  /** The first stop of the current run. */
  stopped: Stop | undefined
  /** Number of model calls. */
  modelCalls = 0
  #beats = 0
  #plans: { readonly at: number; readonly act: () => void }[] = []
  #names = 0

  constructor(loop: Loop = current) {
    this.loop = loop
  }

  /** Marks a moment that can be observed from outside. */
  beat(): void {
    this.#beats++
    const due = this.#plans.filter(({ at }) => at <= this.#beats)
    if (due.length === 0) return
    this.#plans = this.#plans.filter(({ at }) => at > this.#beats)
    for (const { act } of due) act()
  }

  /** Returns the model as agents get it. */
  shown(model: ScriptedModel): AnyLanguageModel {
    return model
  }

  /** Notes that a model is called. */
  called(signal: AbortSignal | undefined): void {
    this.modelCalls++
    if (signal) this.signals.add(signal)
    this.budget?.called()
    this.beat()
  }

  /** Does something this many moments from now. */
  plan(beats: number, act: () => void): void {
    this.#plans.push({ at: this.#beats + beats, act })
  }

  /** Drops everything that was planned. */
  forget(): void {
    this.#plans = []
    this.executing.clear()
  }

  claim(holds: boolean, fault: string): void {
    if (!holds) this.faults.push(fault)
  }

  /** Returns a text that occurs once. */
  name(kind: string): string {
    return `${kind}-${++this.#names}-.`
  }

  /** Gives an input, up to a maximum: a turn that gets inputs for ever never ends. */
  async give(kind: Given['kind'], offer: (text: string) => Promise<Accepted>): Promise<void> {
    if (this.given.length >= mostInputs) return
    const given: Given = { kind, text: this.name(kind), accepted: undefined }
    this.given.push(given)
    given.accepted = await offer(given.text)
  }

  stop(kind: Stop['kind'], act: () => void): void {
    this.stopped ??= { kind, at: this.clock.now(), modelCalls: this.modelCalls }
    act()
  }

  sleep(ms: number): Promise<void> {
    const { world } = this.clock
    return new Promise((resolve) => void world.setTimer(world.now() + ms, resolve))
  }

  /** Waits until nothing happens any more as long as no time passes. */
  async rest(): Promise<void> {
    for (let quiet = 0, seen = -1; quiet < quietTurns; quiet++) {
      if (seen !== this.#beats) quiet = 0
      seen = this.#beats
      await nextTurn()
    }
  }

  /** Lets time pass until the promise has settled. Returns false if nothing is left that could settle it. */
  async settle(promise: Promise<unknown>): Promise<boolean> {
    let settled = false
    const note = (): void => void (settled = true)
    promise.then(note, note)
    for (let rounds = 0; rounds < mostRounds; rounds++) {
      await this.rest()
      if (settled) return true
      if (!(await this.clock.advance())) break
    }
    for (let turns = 0; turns < 20 && !settled; turns++) await nextTurn()
    return settled
  }
}

const mostInputs = 6
const quietTurns = 3
const mostRounds = 3_000

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
