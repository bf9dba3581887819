import { lazy } from 'react'
import type { ComponentType } from 'react'

const firstWaitMs = 250
const longestWaitMs = 10_000

/** Like `lazy` of React. If the server does not answer, the code is loaded again later, and the fallback is shown until then. */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loadPatiently(load) }))
}

/** Calls `load`, which only imports code. If the code does not arrive, calls it again until it does. */
export async function loadPatiently<T>(load: () => Promise<T>): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await load()
    } catch (error) {
      // Browsers throw this if the code does not arrive.
      if (!(error instanceof TypeError)) throw error
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}
