import type { Writable } from 'node:stream'

/** More than any `startTimeoutMs` that makes sense. */
export const longestStartMs = 24 * 3_600_000

/** Resolves once the text is out: who reads slowly slows the printing. */
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
