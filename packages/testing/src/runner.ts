import { SessionError } from '@bowline/sessions'
import type { TestRunner } from './store-kit/kit.ts'

export function globalRunner(): TestRunner {
  const { describe, it } = globalThis as Partial<TestRunner>
  if (!describe || !it) throw new SessionError('invalid-config', 'There is no global describe and it: pass a runner')
  return { describe, it }
}
