import type { Claim } from '@bowline/sessions'
import type { Hint } from './hint-format.ts'

/**
 * Wakes other processes for new work, except for work that this process claims itself: a wake makes each of them query the
 * database. Holds a wake back while a claim of this process is in progress, for at most one further claim.
 */
export class OwnWakes {
  readonly #tell: (hint: Hint) => void
  /** Hints of commits that were not sent yet, and keys of sessions for which other processes may have to be woken. */
  #untold: Hint[] = []
  readonly #held = new Set<string>()
  #claims = 0
  #isScheduled = false

  constructor(tell: (hint: Hint) => void) {
    this.#tell = tell
  }

  /** Must be called after the commit. */
  add(hint: Hint): void {
    if (!hint.wake) return this.#tell(hint)
    this.#untold.push(hint)
    this.#schedule()
  }

  async claiming(claim: () => Promise<readonly Claim[]>): Promise<readonly Claim[]> {
    this.#takeUntold()
    const seen = [...this.#held]
    this.#claims += 1
    let claims: readonly Claim[] = []
    try {
      claims = await claim()
      for (const { session } of claims) this.#held.delete(session.key)
    } finally {
      this.#claims -= 1
      for (const key of seen) if (this.#held.delete(key)) this.#wake(key)
      if (this.#held.size > 0) this.#schedule()
    }
    return claims
  }

  /** Sends everything pending. */
  flush(): void {
    for (const hint of this.#untold) this.#tell(hint)
    this.#untold = []
    for (const key of this.#held) this.#wake(key)
    this.#held.clear()
  }

  /** Decides after `setImmediate`: a runtime with room for the work has started its claim by then. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#decide()
    })
  }

  #decide(): void {
    if (this.#claims > 0) this.#takeUntold()
    else this.flush()
  }

  /** Notifies readers at once and holds back the wakes. */
  #takeUntold(): void {
    for (const hint of this.#untold) {
      this.#tell({ ...hint, wake: false })
      this.#held.add(hint.key)
    }
    this.#untold = []
  }

  #wake(key: string): void {
    this.#tell({ key, seq: undefined, wake: true, deltas: false })
  }
}
