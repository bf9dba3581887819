export function concatenate(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces
  if (first && pieces.length === 1) return first
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
