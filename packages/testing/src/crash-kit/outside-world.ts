import type { CallContext } from '@bowline/agent-loop'
import type { CrashProcess } from './crash-process.ts'
import type { Effect, World } from './types.ts'

/** Effects of calls and memory of clients. Outlives every process, outside of the store. */
export class OutsideWorld {
  readonly effects: Effect[] = []
  readonly notes = new Map<string, unknown>()
  readonly #log: (process: CrashProcess, what: string) => void

  constructor(log: (process: CrashProcess, what: string) => void) {
    this.#log = log
  }

  /** Returns the world as one process sees it. */
  of(process: CrashProcess): World {
    return {
      effects: this.effects,
      notes: this.notes,
      happened: (key) => this.effects.some((effect) => effect.idempotencyKey === key),
      sleep: (ms) => new Promise((resolve) => process.clock.setTimer(process.clock.now() + ms, resolve)),
      effect: async (call) => {
        await process.pass('code')
        call.abortSignal.throwIfAborted()
        this.#takeEffect(process, call)
      },
    }
  }

  #takeEffect(process: CrashProcess, call: CallContext): void {
    const { toolName, toolCallId, runId, step, idempotencyKey, attempt } = call
    const where = { process: process.name, at: process.clock.now() }
    this.effects.push({ toolName, toolCallId, runId, step, idempotencyKey, attempt, ...where })
    this.#log(process, `effect ${toolName} ${idempotencyKey} attempt ${attempt}`)
  }
}
