import type { JSONValue } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { copyJson, deepFreeze } from '../../base/json.ts'

type StoredStates = Readonly<Record<string, JSONValue>>

/** The records of the extensions of one turn, as they are being written and as they were last taken to be stored. */
export class ExtensionStates {
  readonly #records = new Map<string, Record<string, JSONValue>>()
  /** What was taken last, as text. */
  readonly #texts = new Map<string, string>()
  readonly #broken = new Set<string>()
  readonly #onError: (extension: string, message: string) => void
  #stored: StoredStates

  /** `onError` is told once of each record that is no JSON; then what was taken before stands. Must not throw. */
  constructor(stored: StoredStates, onError: (extension: string, message: string) => void) {
    this.#stored = stored
    this.#onError = onError
  }

  /** Undefined when no extension has ever kept anything. */
  get stored(): StoredStates | undefined {
    return Object.keys(this.#stored).length > 0 ? this.#stored : undefined
  }

  /** The extension's own, to be written by it. */
  of(extension: string): Record<string, JSONValue> {
    const known = this.#records.get(extension)
    if (known) return known
    const before = Object.hasOwn(this.#stored, extension) ? this.#stored[extension] : {}
    const record = structuredClone(before) as Record<string, JSONValue>
    this.#records.set(extension, record)
    this.#texts.set(extension, JSON.stringify(record))
    return record
  }

  /** Takes over what extensions have written. True when anything has changed. */
  take(): boolean {
    const before = this.#stored
    for (const [extension, record] of this.#records) this.#takeRecord(extension, record)
    return this.#stored !== before
  }

  #takeRecord(extension: string, record: Record<string, JSONValue>): void {
    try {
      const copy = copyJson(record)
      const text = JSON.stringify(copy)
      if (text === this.#texts.get(extension)) return
      this.#texts.set(extension, text)
      this.#stored = { ...this.#stored, [extension]: deepFreeze(copy) }
    } catch (error) {
      if (this.#broken.has(extension)) return
      this.#broken.add(extension)
      this.#onError(extension, messageOf(error))
    }
  }
}
