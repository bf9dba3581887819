import type { Problem } from './wire.ts'

const maxProblemCharacters = 1024 * 1024

/**
 * The problem of a refused answer; undefined when something else than the server wrote it, such as a proxy. Rejects when
 * the body does not arrive as a whole.
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

/** Seconds or a date. */
export function retryAfterOf(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}
