import type { IdSource } from '../base/ids.ts'

/** `<kind>_1`, `<kind>_2` …, counted per kind. */
export function fakeIds(): IdSource {
  const counts = new Map<string, number>()
  return {
    next(kind) {
      const count = (counts.get(kind) ?? 0) + 1
      counts.set(kind, count)
      return `${kind}_${count}`
    },
  }
}
