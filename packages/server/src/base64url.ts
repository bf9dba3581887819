/** Multiple of three, so that the base64 of the chunks can be concatenated. */
const chunkBytes = 0x6000

export function base64(bytes: Uint8Array): string {
  const pieces: string[] = []
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(start, start + chunkBytes))))
  }
  return pieces.join('')
}

/** Returns base64url without padding. */
export function base64url(bytes: Uint8Array): string {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
