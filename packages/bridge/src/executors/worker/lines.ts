import type { Readable } from 'node:stream'
import { BrokenFrame } from './broken-frame.ts'

const newline = 0x0a

/** Reads only as fast as lines are consumed, and buffers at most one line. */
export async function* readLines(source: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let length = 0
  const add = (part: Buffer): void => {
    length += part.length
    if (length > maxBytes) throw new BrokenFrame(`a line of over ${maxBytes} bytes`)
    parts.push(part)
  }
  for await (const chunk of source as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end))
      yield parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
      parts = []
      length = 0
      start = end + 1
    }
    if (start < chunk.length) add(chunk.subarray(start))
  }
  if (length > 0) throw new BrokenFrame('a line that does not end')
}
