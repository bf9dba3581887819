export { testBridgeExecutor } from './executor-kit.ts'
export type { ExecutorKitOptions, ExecutorUnderTest, KitAbility, KitRunner } from './executor-kit/kit.ts'
export { kitAgent, kitApproval, kitResult } from './kit-agent.ts'
export type { KitAgentOptions, KitWord } from './kit-agent.ts'
