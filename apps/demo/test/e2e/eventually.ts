import { vi } from 'vitest'

/** Far over what a page needs: a busy machine is no failure. */
const limit = { timeout: 20_000, interval: 50 }

/** Resolves as soon as `check` does. Works in tests that run beside others, as `expect.poll` does not. */
export async function eventually(check: () => Promise<unknown>): Promise<void> {
  await vi.waitFor(check, limit)
}
