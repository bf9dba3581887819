import { SessionError } from '../../errors.ts'
import type { HistoryAnswer, HistoryCall } from './operations.ts'
import type { RecordOptions } from './options.ts'

/** One line of a history: a call, an answer, or both where nothing lies between them. */
export interface HistoryLine {
  readonly process: string
  /** The number of the call in its process. */
  readonly n: number
  readonly at: number
  readonly namespace?: string
  readonly call?: HistoryCall
  readonly answer?: HistoryAnswer
  /** The error that came in the place of an answer. */
  readonly failed?: string
  /** The call is known to have had no effect. */
  readonly didNothing?: true
}

interface RecordingOptions extends Omit<RecordOptions, 'write'> {
  readonly keep: (line: HistoryLine) => void
  /** Whether a call that failed with this is known to have had no effect. Default: that is never known. */
  readonly didNothing?: (error: unknown) => boolean
}

/** Keeps the calls of one process and their answers, each before the next thing happens. */
export class Recording {
  readonly #process: string
  readonly #keep: (line: HistoryLine) => void
  readonly #now: () => number
  readonly #didNothing: (error: unknown) => boolean
  #calls = 0

  constructor({ process, keep, now = monotonicMs, didNothing = () => false }: RecordingOptions) {
    this.#process = process
    this.#keep = keep
    this.#now = now
    this.#didNothing = didNothing
  }

  /** Records a call around `ask`. `answerOf` says what is kept of the answer. */
  async around<T>(namespace: string, call: HistoryCall, ask: () => Promise<T>, answerOf: (answer: T) => HistoryAnswer): Promise<T> {
    const n = ++this.#calls
    this.#line({ n, namespace, call })
    let answer: T
    try {
      answer = await ask()
    } catch (error) {
      this.#line({ n, failed: SessionError.isInstance(error) ? error.code : 'error', ...(this.#didNothing(error) && { didNothing: true }) })
      throw error
    }
    this.#line({ n, answer: answerOf(answer) })
    return answer
  }

  /** Records what is so at this moment. */
  note(namespace: string, call: HistoryCall, answer: HistoryAnswer): void {
    this.#line({ n: ++this.#calls, namespace, call, answer })
  }

  #line(line: Omit<HistoryLine, 'process' | 'at'>): void {
    this.#keep({ process: this.#process, at: this.#now(), ...line })
  }
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000
}
