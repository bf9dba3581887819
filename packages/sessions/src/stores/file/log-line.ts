import { crc32 } from 'node:zlib'

const head = /^\{"line":(\d{1,15}),"bytes":(\d{1,15}),"crc32":"([0-9a-f]{8})","record":/
const longestHead = 100
const lineBreak = 0x0a

/** Prints one line of JSON: the line number, the record, and the record's length and checksum. */
export function printLine(number: number, record: string): Buffer {
  const body = Buffer.from(record)
  const before = `{"line":${number},"bytes":${body.length},"crc32":"${checksumOf(body)}","record":`
  return Buffer.concat([Buffer.from(before), body, Buffer.from('}\n')])
}

function checksumOf(body: Buffer): string {
  return crc32(body).toString(16).padStart(8, '0')
}

/** Returns the record of a line without its line break, or undefined if the line is damaged. */
function parseLine(line: Buffer, number: number): unknown {
  const [before = '', writtenNumber, bytes, checksum] = head.exec(line.toString('latin1', 0, longestHead)) ?? []
  const body = line.subarray(before.length, -1)
  const isWhole = Number(writtenNumber) === number && Number(bytes) === body.length && line.at(-1) === 0x7d
  return isWhole && checksum === checksumOf(body) ? JSON.parse(body.toString()) : undefined
}

export interface ScannedLines {
  /** Undefined for a damaged line. */
  readonly records: readonly unknown[]
  /** Bytes of the lines before a torn one; the whole length if none is torn. */
  readonly wholeBytes: number
  /** Number of the first damaged line, from 1. */
  readonly damagedLine?: number
}

/**
 * Returns the records of a file. An interrupted write leaves a last line without a line break or with unwritten blocks: it was not
 * acknowledged and is ignored. Any other difference from what was written is damage.
 */
export function scanLines(bytes: Buffer): ScannedLines {
  const records: unknown[] = []
  let start = 0
  for (let end = bytes.indexOf(lineBreak); end !== -1; end = bytes.indexOf(lineBreak, start)) {
    const line = bytes.subarray(start, end)
    const record = parseLine(line, records.length + 1)
    const isLast = end === bytes.length - 1
    if (record === undefined && isLast && line.includes(0)) break
    records.push(record)
    start = end + 1
  }
  const damaged = records.indexOf(undefined)
  return { records, wholeBytes: start, ...(damaged !== -1 && { damagedLine: damaged + 1 }) }
}
