import type { Clock } from '../../src/index.ts'

/** Clock that advances only by waits. A timer of up to `longestMs` fires at once; a longer one never fires. */
export class JumpingClock implements Clock {
  readonly waitsMs: number[] = []
  readonly #longestMs: number
  #now = 1_000_000

  constructor(longestMs: number) {
    this.#longestMs = longestMs
  }

  now(): number {
    return this.#now
  }

  pass(ms: number): void {
    this.#now += ms
  }

  setTimer(atMs: number, run: () => void): () => void {
    const delayMs = atMs - this.#now
    if (delayMs > this.#longestMs) return () => undefined
    let active = true
    setImmediate(() => {
      if (!active) return
      this.waitsMs.push(delayMs)
      this.#now = Math.max(this.#now, atMs)
      run()
    })
    return () => {
      active = false
    }
  }
}
