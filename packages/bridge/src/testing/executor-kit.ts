import { BridgeError } from '../errors.ts'
import { delegations } from './executor-kit/delegations.ts'
import { executorKitOf } from './executor-kit/kit.ts'
import type { ExecutorKitOptions, ExecutorTopic, KitRunner } from './executor-kit/kit.ts'
import { prompts } from './executor-kit/prompts.ts'
import { questions } from './executor-kit/questions.ts'
import { sessions } from './executor-kit/sessions.ts'
import { stopping } from './executor-kit/stopping.ts'

const topics: Readonly<Record<string, ExecutorTopic>> = { sessions, prompts, questions, stopping, delegations }

/** Defines the tests that every executor must pass. */
export function testBridgeExecutor(options: ExecutorKitOptions): void {
  const runner = options.runner ?? globalRunner()
  const kit = executorKitOf(options, runner)
  runner.describe(`bridge executor: ${options.name}`, () => {
    for (const [title, topic] of Object.entries(topics)) runner.describe(title, () => topic(kit))
  })
}

function globalRunner(): KitRunner {
  const { describe, it } = globalThis as Partial<KitRunner>
  if (!describe || !it) throw new BridgeError('CONFIG', 'There is no global describe and it: pass a runner')
  return { describe, it }
}
