/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns `count` of the items, drawn by the seed, in their order; all of them if there are fewer. */
export function sample<T>(items: readonly T[], count: number, seed: number): readonly T[] {
  const random = seededRandom(seed)
  const drawn = items.map((item, place) => ({ item, place, key: random() })).sort((one, other) => one.key - other.key)
  return drawn
    .slice(0, count)
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item)
}
