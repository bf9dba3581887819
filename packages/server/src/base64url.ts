const chunkBytes = 0x8000

export function base64(bytes: Uint8Array): string {
  const pieces: string[] = []
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    pieces.push(String.fromCharCode(...bytes.subarray(start, start + chunkBytes)))
  }
  return btoa(pieces.join(''))
}

/** Base64url without padding. */
export function base64url(bytes: Uint8Array): string {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
