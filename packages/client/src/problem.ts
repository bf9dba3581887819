import type { Problem } from './wire.ts'

const maxProblemCharacters = 1024 * 1024

/**
 * Returns the problem of a refused request. Returns undefined if another program, such as a proxy, wrote the answer. Rejects if the
 * body does not arrive completely.
 */
export async function problemOf(response: Response): Promise<Problem | undefined> {
  const text = await response.text()
  if (text.length > maxProblemCharacters) return undefined
  try {
    const value = JSON.parse(text) as Problem | null
    return typeof value?.code === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the delay of `retry-after`, in ms. The header holds seconds or a date. */
export function retryAfterOf(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}
