/** Returns delays from a seed, slightly uneven like those of a real model. The same seed gives the same delays. */
export function seededLatency(seed: string): () => number {
  let state = hash(seed)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    const share = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    return shortestMs + share * (longestMs - shortestMs)
  }
}

const shortestMs = 8
const longestMs = 38

function hash(text: string): number {
  let value = 0x811c9dc5
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return value
}
