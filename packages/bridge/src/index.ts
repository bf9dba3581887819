export type { RuntimeParams } from '@bowline/llm'
export { defineBridgeAgent } from './agent.ts'
export type {
  AgentInfo,
  AgentProvider,
  Answer,
  AnswersContext,
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
export type { HistoryLimits } from './agents/conversation-history.ts'
export { multiProviderAgent } from './agents/multi-provider-agent.ts'
export type { MultiProviderAgentOptions } from './agents/multi-provider-agent.ts'
export type { ProviderChoice } from './agents/provider-choice.ts'
export { runtimeAgent } from './agents/runtime-agent.ts'
export type { RuntimeAgentOptions } from './agents/runtime-agent.ts'
export { createBridge } from './bridge.ts'
export type {
  Bridge,
  BridgeAction,
  BridgeCounters,
  BridgeHealth,
  BridgeLimits,
  BridgeOutcome,
  BridgeResult,
  BridgeRun,
  BridgeSession,
  CancelInput,
  CancelReceipt,
  CloseInput,
  CloseReceipt,
  CreateSessionInput,
  DelegateInput,
  DepthOption,
  ListedAgent,
  OutcomeStatus,
  OwnerOption,
  PromptInput,
  RequestFilter,
  RequestIds,
  RequestOptions,
  RequestPage,
  RequestStatus,
  RequestSummary,
  RequestQuery,
  SessionFilter,
  SessionPage,
  SessionStatus,
  SettledStatus,
} from './bridge-contract.ts'
export { defineBridgeConfig } from './config.ts'
export type { BridgeConfig } from './config.ts'
export { delegateTool } from './delegate-tool.ts'
export type { DelegateToolOptions } from './delegate-tool.ts'
export { BridgeError, bridgeErrorCodes } from './errors.ts'
export type { BridgeErrorBody, BridgeErrorCode, BridgeErrorDetails } from './errors.ts'
export type { BridgeExecutor, DiscoveredAgent, ExecutorHealth, ExecutorHost, ExecutorLimits, WorkerHealth } from './executors/executor.ts'
export { inProcessExecutor } from './executors/in-process.ts'
export type { InProcessExecutor, InProcessExecutorOptions } from './executors/in-process.ts'
export { remoteExecutor } from './executors/remote/remote-executor.ts'
export type { RemoteExecutorOptions } from './executors/remote/remote-executor.ts'
export type { RemoteServerOptions } from './executors/remote/remote-server.ts'
export { workerExecutor } from './executors/worker.ts'
export type {
  CommandWorkerOptions,
  EntryWorkerOptions,
  RestartLimits,
  WorkerExecutorOptions,
  WorkerOptions,
} from './executors/worker/options.ts'
export type { BridgeLogger, LogFields } from './logger.ts'
export type { BridgeNotice, NoticeBody } from './notices.ts'
export type { BridgeOptions } from './settings.ts'
