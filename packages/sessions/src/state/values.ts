import { SessionError } from '../errors.ts'
import { checkJson } from '../json.ts'

/** The value as it is stored; throws when it cannot be. */
export function textOfValue(value: unknown, maxRecordBytes: number): string {
  checkJson(value, 'value')
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) <= maxRecordBytes) return text
  throw new SessionError('entry-too-large', `A state record must have at most ${maxRecordBytes} bytes.`)
}
