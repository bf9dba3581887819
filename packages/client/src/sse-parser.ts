import { ClientError } from './client-error.ts'

const maxLineBytes = 16 * 1024 * 1024

export interface SseFrame {
  readonly id?: string
  readonly data: string
}

export interface SseParser {
  /** The frames that this chunk completes. Throws `frame-too-large`. */
  push(chunk: Uint8Array): SseFrame[]
  /** What the server last asked for as the wait before the next try. */
  readonly retryMs: number | undefined
}

const lineFeed = 10
const carriageReturn = 13
const empty = new Uint8Array(0)
const digits = /^\d{1,9}$/

/** Lines are cut in bytes and decoded whole, so a chunk may end anywhere, also within a character. */
export function createSseParser(limitBytes: number = maxLineBytes): SseParser {
  return new Parser(limitBytes)
}

class Parser implements SseParser {
  retryMs: number | undefined
  readonly #limitBytes: number
  readonly #decoder = new TextDecoder()
  #pieces: Uint8Array[] = []
  #pieceBytes = 0
  #afterReturn = false
  #data: string[] = []
  #dataLength = 0
  #id: string | undefined

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  push(chunk: Uint8Array): SseFrame[] {
    const frames: SseFrame[] = []
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      const closesPair = byte === lineFeed && this.#afterReturn
      this.#afterReturn = byte === carriageReturn
      if (byte !== lineFeed && byte !== carriageReturn) continue
      if (!closesPair) this.#endLine(chunk.subarray(start, at), frames)
      start = at + 1
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
    return frames
  }

  #keep(piece: Uint8Array): void {
    this.#pieceBytes += piece.length
    this.#check(this.#pieceBytes)
    // The chunk belongs to the stream, which may use it again.
    this.#pieces.push(piece.slice())
  }

  #endLine(last: Uint8Array, frames: SseFrame[]): void {
    this.#check(this.#pieceBytes + last.length)
    const line = this.#decoder.decode(this.#pieces.length === 0 ? last : join([...this.#pieces, last]))
    this.#pieces = []
    this.#pieceBytes = 0
    if (line !== '') this.#field(line)
    else this.#endFrame(frames)
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
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
    if (this.#data.length > 0) {
      const data = this.#data.join('\n')
      frames.push(this.#id === undefined ? { data } : { id: this.#id, data })
    }
    this.#data = []
    this.#dataLength = 0
  }

  #check(bytes: number): void {
    if (bytes > this.#limitBytes) {
      throw new ClientError('frame-too-large', `The stream holds a line of more than ${this.#limitBytes} bytes.`)
    }
  }
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (whole === 0) return empty
  const joined = new Uint8Array(whole)
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
