export { createClient } from './client.ts'
export type { Client, ClientOptions, SessionQuery } from './client.ts'
export { ClientError } from './client-error.ts'
export type { ClientErrorCode } from './client-error.ts'
export type { ClientEvent, ResyncNotice, UnknownEvent } from './client-event.ts'
export type { Clock } from './clock.ts'
export type { Connection } from './connection.ts'
export { foldEvent } from './fold-event.ts'
export type { ReconnectOptions } from './patience.ts'
export type { ClientTool, ClientToolContext, ClientTools, InputSchema } from './client-tool.ts'
export type { Acceptance, Run } from './run.ts'
export type { ExecuteResult } from './run-reader.ts'
export type {
  ApproveOptions,
  AttachOptions,
  CallOptions,
  ClientSession,
  InputOptions,
  PageOptions,
  SendInput,
  SendOptions,
} from './client-session.ts'
export type {
  AgentSummary,
  ApprovalAnswer,
  ApprovalReceipt,
  Branch,
  BranchList,
  CompactionResult,
  ExecuteComplete,
  ExecuteOptions,
  ExecuteRequest,
  ForkRequest,
  HeldRun,
  InputReceipt,
  InputRequest,
  JsonObject,
  JsonValue,
  MessageInput,
  OnBusy,
  Problem,
  ResolveRequest,
  RuntimeParams,
  SessionContext,
  SessionList,
  SessionOrigin,
  SessionSummary,
  SessionView,
  Spent,
  StopReceipt,
  StopRequest,
  StreamEnd,
  StreamError,
  SubmissionReceipt,
  Ticket,
  ToolDeclaration,
  ToolResolution,
  ToolResultInput,
  TransportFrame,
  UserMessageInput,
} from './wire.ts'
