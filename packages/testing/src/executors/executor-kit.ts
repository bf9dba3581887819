import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks as check } from './checks.ts'
import { BridgeError } from '@bowline/bridge'
import { delegations } from './executor-kit/delegations.ts'
import { executorKitOf } from './executor-kit/kit.ts'
import type { ExecutorKitOptions, ExecutorTopic, KitAbility, KitRunner } from './executor-kit/kit.ts'
import { prompts } from './executor-kit/prompts.ts'
import { questions } from './executor-kit/questions.ts'
import { sessions } from './executor-kit/sessions.ts'
import { stopping } from './executor-kit/stopping.ts'

const topics: Readonly<Record<string, ExecutorTopic>> = { sessions, prompts, questions, stopping, delegations }

const abilityChecks: FieldChecks<Record<KitAbility, string>> = {
  hooks: check.optionalName,
  metadata: check.optionalName,
  params: check.optionalName,
  results: check.optionalName,
  progress: check.optionalName,
  'typed-errors': check.optionalName,
  stubbornness: check.optionalName,
  'ended-questions': check.optionalName,
  'open-questions': check.optionalName,
}

const optionChecks: FieldChecks<ExecutorKitOptions> = {
  name: check.checkName,
  executor: check.requiredFunction,
  cannot: check.optionalRecord<Record<KitAbility, string>>(abilityChecks),
  runner: check.methods('describe', 'it'),
}

/** Registers the tests that every executor must pass. */
export function testBridgeExecutor(options: ExecutorKitOptions): void {
  check.record(optionChecks)('testBridgeExecutor.options', options)
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
