import type { Step } from './partition.ts'
import { SessionModel, type Contradiction } from './session-model.ts'
import { addFingerprints, fingerprintOf, subtractFingerprint } from './tracked.ts'

export interface Search {
  /** `undecided`: the search was given up. */
  readonly verdict: 'yes' | 'no' | 'undecided'
  /** The longest order that was found. */
  readonly path: readonly Step[]
  /** All steps have their place, and this is wrong all the same. */
  readonly atEnd?: Contradiction
  /** Steps that were tried. */
  readonly tries: number
}

export interface SearchOptions {
  readonly maxTries: number
  /** Steps that have their place, in this order, before all others. */
  readonly before?: readonly Step[]
  /** Says what is wrong with the session when all steps have their place. */
  readonly atEnd?: (model: SessionModel) => Contradiction | undefined
}

/** Looks for an order of steps that the model allows, and that keeps one behind another that had its answer before. */
export function linearize(steps: readonly Step[], options: SearchOptions): Search {
  // What may have happened is most often needed where nothing else fits, if it is needed at all.
  const quick = new Linearization(steps, options, true).search()
  if (quick.verdict === 'yes' || !steps.some(({ isOptional }) => isOptional)) return quick
  const whole = new Linearization(steps, options, false).search()
  // The order that takes fewer steps for granted explains more.
  return whole.verdict !== 'yes' && countSure(quick) >= countSure(whole) ? { ...whole, path: quick.path } : whole
}

function countSure({ path }: Search): number {
  return path.filter(({ isOptional }) => !isOptional).length
}

/** One more step has its place. */
interface Frame {
  readonly step: Numbered | undefined
  readonly mark: number
  /** The first sure step without a place. */
  readonly head: number
  /** Steps that may come next. */
  readonly next: Iterator<Numbered, undefined>
  /** A sure one fitted. */
  hasFitting: boolean
  /** A read fitted that changes nothing. If an order has it later, the same order has it here too: no other is tried. */
  isSettled: boolean
}

interface Numbered {
  readonly step: Step
  readonly fingerprint: number
  isPlaced: boolean
}

class Linearization {
  readonly #options: SearchOptions
  /** Optional steps are tried only where no sure one fits. */
  readonly #isQuick: boolean
  readonly #model = new SessionModel()
  readonly #sure: readonly Numbered[]
  readonly #optional: readonly Numbered[]
  /** Which steps have their place and how the session stands then: what lies behind that was looked at. */
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
    const numbered = steps.toSorted((a, b) => a.calledAt - b.calledAt).map((step, index): Numbered => ({ step, fingerprint: fingerprintOf(`step ${index}`), isPlaced: false }))
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

  /** Keeps the longest order. Asked only where an order ends. */
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
    const frame: Frame = { step, mark, head, hasFitting: false, isSettled: false, next: this.#candidates(head, () => this.#isQuick && frame.hasFitting) }
    return frame
  }

  /** Steps that were called before any of those without a place had its answer: reads, then writes, then what may have happened. */
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
