import type { Runtime, WorkReport } from '@bowline/sessions'

/** Time in ms within which an invocation says something to Restate. */
export interface VisitTimes {
  readonly turnMs: number
  readonly beatMs: number
}

/**
 * The sessions that this worker is working on. A visit outlives the invocation that began it: if Restate loses an invocation and asks
 * again, the next one joins the visit, so that a running tool is neither aborted nor started again.
 */
export class Visits {
  readonly #runtime: Runtime
  readonly #times: VisitTimes
  readonly #visits = new Map<string, Promise<WorkReport>>()

  constructor(runtime: Runtime, times: VisitTimes) {
    this.#runtime = runtime
    this.#times = times
  }

  /**
   * Works on a session. Resolves with the report and the present time, or after `beatMs` with null: the visit goes on, and the
   * caller must call again.
   */
  async continue(key: string): Promise<(WorkReport & { readonly at: number }) | null> {
    const { promise: beat, resolve } = Promise.withResolvers<null>()
    const timer = setTimeout(() => resolve(null), this.#times.beatMs)
    try {
      const report = await Promise.race([this.#visit(key), beat])
      return report && { ...report, at: Date.now() }
    } finally {
      clearTimeout(timer)
    }
  }

  #visit(key: string): Promise<WorkReport> {
    const before = this.#visits.get(key)
    if (before) return before
    const visit = this.#runtime
      .work(key, { untilMs: Date.now() + this.#times.turnMs, takeOver: true })
      .finally(() => this.#visits.delete(key))
    // If its invocation is lost, the error has no receiver: the next invocation begins another visit and meets it.
    visit.catch(() => undefined)
    this.#visits.set(key, visit)
    return visit
  }
}
