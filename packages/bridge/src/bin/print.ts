import type { Writable } from 'node:stream'

/** Upper limit for a start, above any sensible `startTimeoutMs`. */
export const longestStartMs = 24 * 3_600_000

/** Writes the text and resolves once it is written, so that a slow reader slows the output. */
export function print(out: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    out.once('error', reject)
    out.write(text, (error) => {
      out.off('error', reject)
      if (error) reject(error)
      else resolve()
    })
  })
}
