import { SessionError } from '@bowline/sessions'
import type { Runtime } from '@bowline/sessions'

const maxStarts = 3

/** Starts the runtime. Retries if the store is unavailable. */
export async function startRuntime(runtime: Runtime): Promise<void> {
  for (let starts = 1; ; starts++) {
    try {
      return void (await runtime.start())
    } catch (error) {
      if (starts === maxStarts || !SessionError.isInstance(error) || !error.retryable) throw error
    }
  }
}

export function nameOfError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
