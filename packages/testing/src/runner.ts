import { SessionError } from '@bowline/sessions'

/** The functions `describe` and `it` of a test runner. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => void
  readonly it: (name: string, body: () => Promise<void>, timeoutMs?: number) => void
}

export function globalRunner(): TestRunner {
  const { describe, it } = globalThis as Partial<TestRunner>
  if (!describe || !it) throw new SessionError('invalid-config', 'There is no global describe and it: pass a runner')
  return { describe, it }
}
