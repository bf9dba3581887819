import type { Step } from './partition.ts'
import { SessionModel, type Contradiction } from './session-model.ts'
import { addFingerprints, fingerprintOf, subtractFingerprint } from './tracked.ts'

export interface Search {
  /** `undecided`: the search exceeded its limit. */
  readonly verdict: 'yes' | 'no' | 'undecided'
  /** The longest order found. */
  readonly path: readonly Step[]
  /** Set if all steps are placed, but the end state is wrong. */
  readonly atEnd?: Contradiction
  /** Number of steps tried. */
  readonly tries: number
}

export interface SearchOptions {
  readonly maxTries: number
  /** Steps that are placed first, in this order. */
  readonly before?: readonly Step[]
  /** Returns the contradiction of the end state, if there is one, after all steps are placed. */
  readonly atEnd?: (model: SessionModel) => Contradiction | undefined
}

/** Searches for an order of the steps that the model allows. A step that was answered before another was called comes first. */
export function linearize(steps: readonly Step[], options: SearchOptions): Search {
  // Optional steps are mostly needed only where no other step fits.
  const quick = new Linearization(steps, options, true).search()
  if (quick.verdict === 'yes' || !steps.some(({ isOptional }) => isOptional)) return quick
  const whole = new Linearization(steps, options, false).search()
  // Prefers the order that relies on fewer optional steps.
  return whole.verdict !== 'yes' && countSure(quick) >= countSure(whole) ? { ...whole, path: quick.path } : whole
}

function countSure({ path }: Search): number {
  return path.filter(({ isOptional }) => !isOptional).length
}

/** State of the search with one more step placed. */
interface Frame {
  readonly step: Numbered | undefined
  readonly mark: number
  /** The first sure step that is not placed. */
  readonly head: number
  /** Candidates for the next step. */
  readonly next: Iterator<Numbered, undefined>
  /** True if a sure step fitted. */
  hasFitting: boolean
  /** True if a read that changes nothing fitted here. Any valid order can have it at this point, so no other candidate is tried. */
  isSettled: boolean
}

interface Numbered {
  readonly step: Step
  readonly fingerprint: number
  isPlaced: boolean
}

class Linearization {
  readonly #options: SearchOptions
  /** Tries optional steps only where no sure step fits. */
  readonly #isQuick: boolean
  readonly #model = new SessionModel()
  readonly #sure: readonly Numbered[]
  readonly #optional: readonly Numbered[]
  /** Combinations of placed steps and session state that were already searched. */
  readonly #seen = new Set<string>()
  #placed = 0
  #left: number
  #tries = 0
  #path: readonly Step[] = []
  #most = -1
  #atEnd: Contradiction | undefined

  constructor(steps: readonly Step[], options: SearchOptions, isQuick: boolean) {
    this.#options = options
    this.#isQuick = isQuick
    const numbered = steps
      .toSorted((a, b) => a.calledAt - b.calledAt)
      .map((step, index): Numbered => ({ step, fingerprint: fingerprintOf(`step ${index}`), isPlaced: false }))
    this.#sure = numbered.filter(({ step }) => !step.isOptional)
    this.#optional = numbered.filter(({ step }) => step.isOptional)
    this.#left = this.#sure.length
    for (const step of options.before ?? []) step.apply(this.#model)
  }

  search(): Search {
    const frames = [this.#frame(undefined, 0, 0)]
    for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
      if (this.#isEnd()) return this.#result('yes', frames)
      const next = frame.isSettled ? undefined : frame.next.next().value
      if (next && ++this.#tries > this.#options.maxTries) return this.#result('undecided', frames)
      if (next) {
        this.#try(frames, frame, next)
        continue
      }
      this.#notePath(frames)
      this.#takeBack(frames.pop())
    }
    return this.#result('no', frames)
  }

  #result(verdict: Search['verdict'], frames: readonly Frame[]): Search {
    this.#notePath(frames)
    const atEnd = this.#atEnd && verdict === 'no' ? { atEnd: this.#atEnd } : {}
    return { verdict, path: this.#path, tries: this.#tries, ...atEnd }
  }

  /** Keeps the longest order. Called only where an order ends. */
  #notePath(frames: readonly Frame[]): void {
    const placed = this.#sure.length - this.#left
    if (placed <= this.#most) return
    this.#most = placed
    this.#path = frames.flatMap(({ step }) => step?.step ?? [])
  }

  #isEnd(): boolean {
    if (this.#left > 0) return false
    const wrong = this.#options.atEnd?.(this.#model)
    if (wrong) this.#atEnd ??= wrong
    return !wrong
  }

  #try(frames: Frame[], before: Frame, next: Numbered): void {
    const { tracked } = this.#model
    const mark = tracked.mark
    if (next.step.apply(this.#model)) return tracked.backTo(mark)
    before.hasFitting ||= !next.step.isOptional
    before.isSettled = next.step.isRead && tracked.mark === mark
    this.#place(next, true)
    const state = `${this.#placed} ${tracked.fingerprint}`
    const frame = this.#frame(next, mark, before.head)
    if (this.#seen.has(state)) return this.#takeBack(frame)
    this.#seen.add(state)
    frames.push(frame)
  }

  #takeBack(frame: Frame | undefined): void {
    if (!frame?.step) return
    this.#model.tracked.backTo(frame.mark)
    this.#place(frame.step, false)
  }

  #place(numbered: Numbered, isPlaced: boolean): void {
    numbered.isPlaced = isPlaced
    this.#placed = isPlaced ? addFingerprints(this.#placed, numbered.fingerprint) : subtractFingerprint(this.#placed, numbered.fingerprint)
    if (!numbered.step.isOptional) this.#left += isPlaced ? -1 : 1
  }

  #frame(step: Numbered | undefined, mark: number, from: number): Frame {
    let head = from
    while (this.#sure[head]?.isPlaced) head++
    const frame: Frame = {
      step,
      mark,
      head,
      hasFitting: false,
      isSettled: false,
      next: this.#candidates(head, () => this.#isQuick && frame.hasFitting),
    }
    return frame
  }

  /** Yields unplaced steps that were called before any unplaced step was answered: reads, then writes, then optional steps. */
  *#candidates(head: number, isEnough: () => boolean): Generator<Numbered, undefined> {
    let firstReturn = Infinity
    const candidates: Numbered[] = []
    for (let index = head; index < this.#sure.length; index++) {
      const numbered = this.#sure[index]
      if (!numbered || numbered.step.calledAt > firstReturn) break
      if (numbered.isPlaced) continue
      firstReturn = Math.min(firstReturn, numbered.step.returnedAt)
      candidates.push(numbered)
    }
    const possible = candidates.filter(({ step }) => step.calledAt <= firstReturn)
    yield* possible.filter(({ step }) => step.isRead)
    yield* possible.filter(({ step }) => !step.isRead)
    if (isEnough()) return undefined
    for (const numbered of this.#optional) {
      if (numbered.step.calledAt > firstReturn) return undefined
      if (!numbered.isPlaced) yield numbered
    }
    return undefined
  }
}
