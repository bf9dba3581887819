import { SessionError } from '../../../src/errors.ts'
import type { HistoryAnswer, HistoryCall } from './operations.ts'
import type { RecordOptions } from './options.ts'

/** One line of a history: a call, an answer, or both if they come at the same moment. */
export interface HistoryLine {
  readonly process: string
  /** Number of the call in its process. */
  readonly n: number
  readonly at: number
  readonly namespace?: string
  readonly call?: HistoryCall
  readonly answer?: HistoryAnswer
  /** Code of the error that came instead of an answer. */
  readonly failed?: string
  /** Set if the call certainly had no effect. */
  readonly didNothing?: true
}

interface RecordingOptions extends Omit<RecordOptions, 'write'> {
  readonly keep: (line: HistoryLine) => void
}

/** Records the calls of one process and their answers, each before the process continues. */
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

  /** Records a call around `ask`. `answerOf` selects the recorded facts of the answer. */
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

  /** Records a fact of the present moment. */
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
