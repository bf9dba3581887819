const twoTo20 = 2 ** 20
const twoTo32 = 2 ** 32
const twoTo52 = 2 ** 52

/** Hashes a text to a number below 2^52. */
export function fingerprintOf(text: string): number {
  let [high, low] = [0x9e3779b9, 0x85ebca6b]
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x5bd1e995) ^ (low >>> 15)
  }
  high = Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x27d4eb2f)
  return ((high >>> 0) % twoTo20) * twoTo32 + (low >>> 0)
}

/** Adds fingerprints. The order does not matter. */
export function addFingerprints(a: number, b: number): number {
  return (a + b) % twoTo52
}

export function subtractFingerprint(a: number, b: number): number {
  return (a - b + twoTo52) % twoTo52
}

/** Content of a model, with undo. */
export class Tracked {
  readonly #undo: (() => void)[] = []
  /** Fingerprint of all maps. Equal content gives an equal fingerprint, in any order of insertion. */
  fingerprint = 0

  get mark(): number {
    return this.#undo.length
  }

  backTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.()
  }

  toUndo(undo: () => void): void {
    this.#undo.push(undo)
  }
}

interface Kept<V> {
  readonly value: V
  readonly fingerprint: number
}

/** A map of a model. `print` returns a short text that distinguishes values. */
export class TrackedMap<V> {
  readonly #tracked: Tracked
  readonly #name: string
  readonly #print: (value: V) => string
  readonly #kept = new Map<string, Kept<V>>()

  constructor(tracked: Tracked, name: string, print: (value: V) => string) {
    this.#tracked = tracked
    this.#name = name
    this.#print = print
  }

  get size(): number {
    return this.#kept.size
  }

  get(key: string): V | undefined {
    return this.#kept.get(key)?.value
  }

  has(key: string): boolean {
    return this.#kept.has(key)
  }

  keys(): IterableIterator<string> {
    return this.#kept.keys()
  }

  *values(): Generator<V> {
    for (const { value } of this.#kept.values()) yield value
  }

  /** Sets the value. Undefined removes the key. */
  put(key: string, value: V | undefined): void {
    const before = this.#kept.get(key)
    const after = value === undefined ? undefined : { value, fingerprint: fingerprintOf(`${this.#name} ${key} ${this.#print(value)}`) }
    const { fingerprint } = this.#tracked
    this.#tracked.toUndo(() => {
      this.#tracked.fingerprint = fingerprint
      this.#keep(key, before)
    })
    this.#tracked.fingerprint = addFingerprints(subtractFingerprint(fingerprint, before?.fingerprint ?? 0), after?.fingerprint ?? 0)
    this.#keep(key, after)
  }

  #keep(key: string, kept: Kept<V> | undefined): void {
    if (kept) this.#kept.set(key, kept)
    else this.#kept.delete(key)
  }
}
