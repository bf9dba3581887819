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
    return asProblem(JSON.parse(text))
  } catch {
    return undefined
  }
}

function asProblem(value: unknown): Problem | undefined {
  const isProblem = typeof value === 'object' && value !== null && 'code' in value && typeof value.code === 'string'
  return isProblem ? (value as unknown as Problem) : undefined
}

/** Seconds or a date. */
export function retryAfterOf(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}
