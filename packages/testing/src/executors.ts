export { testBridgeExecutor } from './executors/executor-kit.ts'
export type { ExecutorKitOptions, ExecutorUnderTest, KitAbility, KitRunner } from './executors/executor-kit/kit.ts'
export { kitAgent, kitApproval, kitResult } from './executors/kit-agent.ts'
export type { KitAgentOptions, KitWord } from './executors/kit-agent.ts'
