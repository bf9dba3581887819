import { ClientError } from './client-error.ts'

const maxLineBytes = 16 * 1024 * 1024

export interface SseFrame {
  readonly id?: string
  readonly data: string
}

export interface SseParser {
  /** Returns the frames that this chunk completes. Throws `frame-too-large`. */
  push(chunk: Uint8Array): SseFrame[]
  /** Wait before the next try that the server asked for last. */
  readonly retryMs: number | undefined
}

const lineFeed = 10
const carriageReturn = 13
/** Name, and after a colon and at most one space the value. */
const form = /^([^:]*):? ?(.*)$/s
const digits = /^\d{1,9}$/

/** Creates a parser. A chunk may end anywhere, also within a character or a line end. */
export function createSseParser(limitBytes: number = maxLineBytes): SseParser {
  return new Parser(limitBytes)
}

class Parser implements SseParser {
  retryMs: number | undefined
  readonly #limitBytes: number
  readonly #decoder = new TextDecoder()
  /** Line that has not ended yet. */
  #open = ''
  #openBytes = 0
  #afterReturn = false
  #data: string[] = []
  #dataLength = 0
  #id: string | undefined

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  push(chunk: Uint8Array): SseFrame[] {
    const frames: SseFrame[] = []
    const bytes = this.#afterReturn && chunk[0] === lineFeed ? chunk.subarray(1) : chunk
    if (chunk.length > 0) this.#afterReturn = chunk.at(-1) === carriageReturn
    const end = bytes.findIndex(endsLine)
    this.#check(this.#openBytes + (end < 0 ? bytes.length : end))
    this.#openBytes = end < 0 ? this.#openBytes + bytes.length : bytes.length - 1 - bytes.findLastIndex(endsLine)
    const [rest = '', ...lines] = this.#decoder.decode(bytes, { stream: true }).split(/\r\n?|\n/)
    this.#open += rest
    for (const next of lines) {
      if (this.#open === '') this.#endFrame(frames)
      else this.#field(this.#open)
      this.#open = next
    }
    return frames
  }

  #field(line: string): void {
    const [, name, value = ''] = form.exec(line) ?? []
    if (name === 'data') {
      this.#dataLength += value.length
      this.#check(this.#dataLength)
      this.#data.push(value)
    } else if (name === 'id' && !value.includes('\0')) {
      this.#id = value
    } else if (name === 'retry' && digits.test(value)) {
      this.retryMs = Number(value)
    }
  }

  #endFrame(frames: SseFrame[]): void {
    const data = this.#data.join('\n')
    if (this.#data.length > 0) frames.push({ data, ...(this.#id !== undefined && { id: this.#id }) })
    this.#data = []
    this.#dataLength = 0
  }

  #check(bytes: number): void {
    if (bytes > this.#limitBytes) {
      throw new ClientError('frame-too-large', `The stream has a line of more than ${this.#limitBytes} bytes.`)
    }
  }
}

function endsLine(byte: number): boolean {
  return byte === lineFeed || byte === carriageReturn
}
