export type { RuntimeParams } from '@bowline/llm'
export { defineBridgeAgent } from './agent.ts'
export type {
  AgentInfo,
  AgentProvider,
  Answer,
  BridgeAgent,
  BridgeEvent,
  CancelContext,
  CancelReason,
  CloseReason,
  PendingInput,
  PromptContext,
  PromptResult,
  SessionContext,
  StopReason,
} from './agent.ts'
export type { ListedAgent } from './agent-directory.ts'
export type { HistoryLimits } from './agents/conversation-history.ts'
export { multiProviderAgent } from './agents/multi-provider-agent.ts'
export type { MultiProviderAgentOptions } from './agents/multi-provider-agent.ts'
export type { ProviderChoice } from './agents/provider-choice.ts'
export { runtimeAgent } from './agents/runtime-agent.ts'
export type { RuntimeAgentOptions } from './agents/runtime-agent.ts'
export { createBridge } from './bridge.ts'
export type { Bridge, BridgeHealth, BridgeRun } from './bridge.ts'
export { defineBridgeConfig } from './config.ts'
export type { BridgeConfig } from './config.ts'
export type { DelegateInput } from './delegate-input.ts'
export { BridgeError, bridgeErrorCodes } from './errors.ts'
export type { BridgeErrorBody, BridgeErrorCode, BridgeErrorDetails } from './errors.ts'
export type { BridgeExecutor, DiscoveredAgent, ExecutorHealth, ExecutorHost } from './executors/executor.ts'
export { inProcessExecutor } from './executors/in-process.ts'
export type { InProcessExecutorOptions } from './executors/in-process.ts'
export type { BridgeLogger, LogFields } from './logger.ts'
export type { BridgeOutcome, BridgeResult, RequestIds } from './outcome.ts'
export type { OutcomeStatus } from './run-result.ts'
export type { BridgeOptions } from './settings.ts'
