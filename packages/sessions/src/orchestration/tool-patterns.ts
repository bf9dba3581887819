/** Returns true if a pattern matches the name. `*` matches any run of characters, all others match themselves. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name))
}

/** Searches the pieces between the stars from left to right, without backtracking. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.includes('*')) return pattern === name
  const [start = '', ...rest] = pattern.split('*')
  const end = rest.pop() ?? ''
  if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end)) return false
  let place = start.length
  for (const piece of rest) {
    const found = name.indexOf(piece, place)
    if (found < 0) return false
    place = found + piece.length
  }
  return place <= name.length - end.length
}
