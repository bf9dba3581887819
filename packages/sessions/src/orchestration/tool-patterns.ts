/** Whether one of the patterns is the name. `*` stands for any run of characters, everything else for itself. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name))
}

/** The pieces between the stars are looked for from left to right: no try is ever taken back. */
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
