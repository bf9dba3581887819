/** Estimated size of an event besides its texts. */
const deltaOverheadBytes = 200
const durableOverheadBytes = 1024

/** Returns the size of a delta in constant time, since every delta is measured. */
export function deltaBytes(event: object): number {
  const text = (event as { delta?: unknown; text?: unknown }).delta ?? (event as { text?: unknown }).text
  return deltaOverheadBytes + (typeof text === 'string' ? text.length : 0)
}

/** Returns the size of a durable event, which may hold a whole message or tool output. */
export function durableBytes(event: object): number {
  return durableOverheadBytes + textLength(event)
}

function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  if (ArrayBuffer.isView(value)) return value.byteLength
  let length = 0
  for (const each of Object.values(value)) length += textLength(each)
  return length
}
