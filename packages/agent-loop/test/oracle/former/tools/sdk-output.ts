import type { FileData } from '@bowline/llm'
import { isRecord } from '../base/json.ts'

/** What a `toModelOutput` of the AI SDK gave, with its content as this package has it. Throws for what it cannot hold. */
export function fromSdkOutput(given: unknown): unknown {
  if (!isRecord(given) || given['type'] !== 'content' || !Array.isArray(given['value'])) return given
  return { type: 'content', value: given['value'].map(itemOf) }
}

/** Checked again, as a whole, when it is stored. */
function itemOf(item: unknown): unknown {
  if (!isRecord(item)) throw notHeld('an item that is no object')
  const { filename, providerOptions } = item
  const rest = { ...(filename !== undefined && { filename }), ...(providerOptions !== undefined && { providerOptions }) }
  const fileOf = (data: FileData, otherwise: string): object => {
    return { type: 'file', mediaType: typeof item['mediaType'] === 'string' ? item['mediaType'] : otherwise, data, ...rest }
  }
  switch (item['type']) {
    case 'text':
      return item
    case 'file':
      return fileOf(dataOf(item['data']), 'application/octet-stream')
    case 'file-data':
      return fileOf({ type: 'data', data: base64Of(item['data']) }, 'application/octet-stream')
    case 'image-data':
      return fileOf({ type: 'data', data: base64Of(item['data']) }, 'image/*')
    case 'file-url':
      return fileOf({ type: 'url', url: String(item['url']) }, 'application/octet-stream')
    case 'image-url':
      return fileOf({ type: 'url', url: String(item['url']) }, 'image/*')
    default:
      throw notHeld(`content of type ${String(item['type'])}`)
  }
}

function dataOf(given: unknown): FileData {
  const { type, data, url, text } = isRecord(given) ? given : {}
  switch (type) {
    case 'data':
      return { type, data: base64Of(data) }
    case 'url':
      return { type, url: String(url) }
    case 'text':
      return { type: 'data', data: base64Of(new TextEncoder().encode(String(text))) }
    default:
      throw notHeld(`a file whose data is of type ${String(type)}`)
  }
}

function base64Of(given: unknown): string {
  if (typeof given === 'string') return given
  const bytes = given instanceof ArrayBuffer ? new Uint8Array(given) : given
  if (!(bytes instanceof Uint8Array)) throw notHeld('a file without data')
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

function notHeld(what: string): TypeError {
  return new TypeError(`toModelOutput gave ${what}`)
}
