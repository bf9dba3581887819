/** Merges headers. A later layer wins; names are case-insensitive. `undefined` removes a header. */
export function mergeHeaders(
  ...layers: readonly (Readonly<Record<string, string | undefined>> | undefined)[]
): Record<string, string> | undefined {
  const merged = new Map<string, readonly [name: string, value: string]>()
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer ?? {})) {
      const key = name.toLowerCase()
      if (value === undefined) merged.delete(key)
      else merged.set(key, [name, value])
    }
  }
  return merged.size > 0 ? Object.fromEntries(merged.values()) : undefined
}
