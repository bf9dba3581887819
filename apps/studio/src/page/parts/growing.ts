/**
 * Immutable record that grows by one entry per event of a long log. Its oldest entries are in the first part. A new entry copies
 * only the newest part, so that it costs the same in a long conversation.
 */
export type Growing<Value> = readonly Readonly<Record<string, Value>>[]

const entriesPerPart = 64

/** Sets the entry of this key, or replaces an existing one. */
export function withEntry<Value>(parts: Growing<Value>, key: string, value: Value): Growing<Value> {
  const place = parts.findLastIndex((part) => Object.hasOwn(part, key))
  const part = parts[place]
  if (part) return parts.with(place, { ...part, [key]: value })
  const last = parts.at(-1)
  if (!last || Object.keys(last).length >= entriesPerPart) return [...parts, { [key]: value }]
  return parts.with(-1, { ...last, [key]: value })
}

export function entryOf<Value>(parts: Growing<Value>, key: string): Value | undefined {
  const part = parts.findLast((part) => Object.hasOwn(part, key))
  return part?.[key]
}
