import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { SessionError } from '../../errors.ts'

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

/** Content of a file of lines. */
export interface ScannedFile<R> {
  readonly path: string
  readonly bytes: number
  /** Undefined for a damaged line. */
  readonly records: readonly (R | undefined)[]
  /** Bytes up to the end of each line. */
  readonly ends: readonly number[]
  /** Number of the first damaged line, from 1. */
  readonly damagedLine?: number
}

/**
 * Reads a file without changing it. An interrupted write leaves a last line without a line break or with unwritten blocks: it was not
 * acknowledged and is left out. Any other difference from what was written is damage. Throws if the format of a record is
 * another one.
 */
export function scanFile<R extends { readonly format: number }>(path: string, format: number): ScannedFile<R> {
  const bytes = readFileSync(path)
  const records: (R | undefined)[] = []
  const ends: number[] = []
  for (let start = 0, end = bytes.indexOf(lineBreak); end !== -1; start = end + 1, end = bytes.indexOf(lineBreak, start)) {
    const line = bytes.subarray(start, end)
    const record = parseLine(line, records.length + 1) as R | undefined
    if (record === undefined && end === bytes.length - 1 && line.includes(0)) break
    records.push(record)
    ends.push(end + 1)
  }
  const other = records.find((record) => record && record.format !== format)
  if (other)
    throw new SessionError(
      'schema-too-new',
      `${path} has format ${other.format}; this version of @bowline/sessions reads ${format}. It was not changed; use the version that wrote it`,
    )
  const damaged = records.indexOf(undefined)
  return { path, bytes: bytes.length, records, ends, ...(damaged !== -1 && { damagedLine: damaged + 1 }) }
}

export function emptyFile<R>(path: string): ScannedFile<R> {
  return { path, bytes: 0, records: [], ends: [] }
}
