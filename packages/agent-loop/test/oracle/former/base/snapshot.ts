/**
 * A frozen copy of plain data, to be handed to code that might change it. What is frozen already stays the same object,
 * so that a list of stored messages costs one copy of the list.
 */
export function snapshot<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (Array.isArray(value)) return Object.freeze(value.map((item: unknown) => snapshot(item))) as Value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy = { ...value } as Record<string, unknown>
  for (const key of Object.keys(copy)) copy[key] = snapshot(copy[key])
  return Object.freeze(copy) as Value
}
