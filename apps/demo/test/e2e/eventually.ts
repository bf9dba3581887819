import { vi } from 'vitest'

/** Much more than a page needs, because the machine may be busy. */
const limit = { timeout: 20_000, interval: 50 }

/** Resolves as soon as `check` does. Works in concurrent tests, unlike `expect.poll`. */
export async function eventually(check: () => Promise<unknown>): Promise<void> {
  await vi.waitFor(check, limit)
}
