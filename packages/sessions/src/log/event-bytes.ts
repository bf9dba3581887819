/** What an event weighs besides its texts. */
const deltaOverheadBytes = 200
const durableOverheadBytes = 1024

/** Costs the same for every delta: it is asked for each. */
export function deltaBytes(event: object): number {
  const text = (event as { delta?: unknown; text?: unknown }).delta ?? (event as { text?: unknown }).text
  return deltaOverheadBytes + (typeof text === 'string' ? text.length : 0)
}

/** A durable event may hold a whole message, or what a tool gave. */
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
