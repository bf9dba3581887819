import type { AnyLanguageModel } from '@bowline/llm'
import type { ScriptedModel } from '@bowline/llm/testing'
import { World } from '../fuzz/world.ts'
import type { Loop } from '../fuzz/world.ts'
import { shownModel } from './shown-model.ts'
import { show, Trace } from './trace.ts'
import { tracedLoop } from './traced-loop.ts'
import type { Extras, Script } from './script.ts'

/** When something is done to a run: at the so-manieth moment from now, or when so much time has passed. */
export type Trigger = { readonly moment: number } | { readonly ms: number }

/**
 * A world in which one copy of the loop plays a script. Its moments are those whose order the loop must keep: commits and calls of
 * models, tools, hooks and other functions of the agent.
 */
export class OracleWorld extends World {
  readonly copy: Loop
  readonly trace: Trace
  readonly script: Script
  #moments = 0
  #due: { readonly at: number; readonly act: () => void }[] = []
  #random = 1
  #delays = 0
  #triggers = 0

  constructor(copy: Loop, script: Script) {
    const trace = new Trace()
    // The traced functions need the world only when they are called.
    const self: { world?: OracleWorld } = {}
    super(tracedLoop(copy, () => self.world as OracleWorld))
    self.world = this
    this.copy = copy
    this.trace = trace
    this.script = script
  }

  get extras(): Extras {
    return this.script.extras
  }

  /** Beats also come from readers, whose place among the rest is left open. */
  override beat(): void {}

  /** What a model may use is what the copies differ in, not what is claimed here. */
  override called(): void {
    this.modelCalls++
  }

  override plan(moments: number, act: () => void): void {
    this.on({ moment: moments }, act)
  }

  override forget(): void {
    this.#due = []
  }

  on(trigger: Trigger, act: () => void): void {
    // Nothing else is due at the same time.
    if ('ms' in trigger) void this.sleep(trigger.ms + ++this.#triggers / 8_192).then(act)
    else this.#due.push({ at: this.#moments + trigger.moment, act })
  }

  moment(): void {
    this.#moments++
    const due = this.#due.filter(({ at }) => at <= this.#moments)
    if (due.length === 0) return
    this.#due = this.#due.filter(({ at }) => at > this.#moments)
    for (const { act } of due) act()
  }

  /** Notes a call of a function of the agent. */
  noteCall(name: string, args: readonly unknown[]): void {
    this.trace.reached(`call ${name}`)
    this.trace.add('calls', [name, ...args.map(show)].join('\t'))
    this.moment()
  }

  override shown(model: ScriptedModel): AnyLanguageModel {
    return shownModel(this, model)
  }

  /** Returns another number each time, and the same ones in each world. */
  readonly random = (): number => {
    this.#random = (this.#random * 48_271) % 2_147_483_647
    return this.#random / 2_147_483_647
  }

  /** Returns a delay that nothing else has. */
  briefDelay(): number {
    return 1 + ++this.#delays / 1_024
  }

  /** Returns a delay of 1 to 33 ms that hardly any other name has; sums of such delays are exact. */
  delayOf(name: string): number {
    let hash = 2_166_136_261
    for (let place = 0; place < name.length; place++) hash = Math.imul(hash ^ name.charCodeAt(place), 16_777_619) >>> 0
    return 1 + (hash % 32_768) / 1_024
  }

  override async rest(): Promise<void> {
    for (let quiet = 0, seen = -1; quiet < 3; quiet++) {
      if (seen !== this.trace.size) quiet = 0
      seen = this.trace.size
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
